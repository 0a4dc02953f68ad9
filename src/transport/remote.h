// What the executor needs of a transport between ranks that share no memory: messages, or one-sided operations on
// windows.  src/collective implements it by MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/kind.h"

namespace fanlight {

// A put and its arrive, or an offer and one get of it.
struct RemoteMessage {
    int peer = -1;             // the other end, a rank of the communicator
    bool offered = false;      // else put
    std::uint32_t number = 0;  // counts what its receiver receives from this peer in an operation
    std::size_t bytes = 0;
    // For windows: where the payload is staged in the area of the receiver of a put or of the
    // owner of an offer, and which of the receiver's flags says that it is there.
    std::size_t slot = 0;
    std::uint32_t flag = 0;
    // For fences: how many lie between the operation's begin and its being received.
    std::uint32_t epoch = 0;
};

// The room of an operation in one rank's window; 0: as much as wanted.
struct RemoteRoom {
    std::size_t bytes = 0;
    std::uint32_t flags = 0;
};

class RemoteTransport {
public:
    // From one rank to another in an operation.
    static constexpr std::uint32_t most_messages = 1 << 16;

    virtual ~RemoteTransport() = default;
    virtual RemoteRoom room() const = 0;

    // All ranks of the communicator begin and end the same operations in the same order, also
    // those that have no part in them.
    virtual void begin() = 0;
    // Neither waits.  `from` stays unchanged until the round is over, or the operation, where
    // it was offered; `to` is written when the round is over.
    virtual void send(const RemoteMessage&, const std::byte* from) = 0;
    virtual void receive(const RemoteMessage&, std::byte* to) = 0;
    // Lets MPI progress.  Whether all is over that was begun in this round; it ends behind this
    // many fences.
    virtual bool round_over(std::uint32_t epoch) = 0;
    // The same of the whole operation.
    virtual bool operation_over(std::uint32_t epochs) = 0;

    // A transport of its own for one of the operations that are in flight at one time, none of which receives
    // another one's messages.  `number` counts them alike on all ranks.
    virtual std::unique_ptr<RemoteTransport> for_operation(std::uint64_t /*number*/) { return nullptr; }
    // How many of them; 1: one operation follows the other.
    virtual std::size_t operations_in_flight() const { return 1; }
};

}  // namespace fanlight
