// A schedule as messages: which send belongs to which receive.
//
// An algorithm is a pure function of the problem, so that every rank can compute every other
// rank's schedule.  Hence a get needs no request: its owner, which has computed the reader's
// schedule, sends what the reader will get as soon as the offer is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"
#include "transport/remote.h"

namespace fanlight {

struct Transfer {
    enum class Kind : std::uint8_t { send, receive, copy, combine };
    Kind kind;
    Order order = Order::overwrite;  // receive, combine
    RemoteMessage message;           // send, receive
    Address from;                    // send, copy, combine
    Address to;                      // receive, copy, combine
    std::size_t bytes = 0;
    std::size_t incoming = 0;        // receive that combines: where it is received first
};

struct Exchange {
    std::vector<Transfer> steps;  // in each round: receives, sends, local ones
    struct Round {
        std::uint32_t end;        // index behind its last step
        std::uint32_t epoch;      // fences that lie before its end
    };
    std::vector<Round> rounds;
    std::uint32_t epochs = 0;         // fences of the operation; the same on all ranks
    std::size_t scratch_bytes = 0;
    std::size_t incoming_bytes = 0;   // the most of a round
    std::size_t element = 1;
    // The most that a rank needs in its window; only where asked for.
    std::size_t area_bytes = 0;
    std::uint32_t flags = 0;
};

enum class Need : std::uint8_t {
    numbers,  // of the messages
    windows,  // also slots and what the windows must hold, which needs all ranks' schedules
    fences,   // also epochs
};

// `members[i]` is the communicator's rank of the problem's rank i.  A problem.rank of -1 is a
// rank that has no part in it, and knows of it what all must know.
Exchange exchange(const Algorithm&, const Problem&, std::span<const int> members, Need);

}  // namespace fanlight
