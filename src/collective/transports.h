// The transports of the remote executor over the MPI library.
#pragma once

#include <memory>

#include "collective/mpi_header.h"
#include "transport/remote.h"

namespace fanlight {

class PrivateCommunicator;

// Operations that are in flight at one time tell their messages from each other's by their slot, which is part of
// the tag.
struct Slots {
    int first = 0, number = 1;
};
// The first are for the pieces of what is waited for in place, the next ones for what is started, and then each persistent
// operation has some for its pieces.
constexpr int slots_for_pieces = 16;
constexpr Slots slots_in_place{0, slots_for_pieces}, slots_of_nonblocking{slots_for_pieces, 32};
constexpr int first_slot_of_persistent = slots_of_nonblocking.first + slots_of_nonblocking.number;
// How many there are for a communicator, by the tags that the MPI library has.
int message_slots();

// To the ranks of a private communicator, so that nothing is mixed with the program's messages.
std::unique_ptr<RemoteTransport> make_message_transport(std::shared_ptr<const PrivateCommunicator>, Slots = {});
// All ranks of `comm`.
std::unique_ptr<RemoteTransport> make_window_transport(MPI_Comm comm, Transport);

}  // namespace fanlight
