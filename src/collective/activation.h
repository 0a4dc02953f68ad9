// Makes Fanlight's groups for a communicator of the MPI library.
#pragma once

#include <memory>

#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "collective/communicator_context.h"
#include "collective/transports.h"

namespace fanlight {

// All ranks of `comm` call it together; all get one, or none and the same reason.
std::unique_ptr<CommunicatorContext> activate(MPI_Comm comm, int rank, int size, Reason& reason);

// For operations that are in flight while their ranks do other things, of a communicator that
// `blocking` serves.  Of several nodes: messages that no others of it have, by their slots.
std::unique_ptr<CommunicatorContext> activate_for_requests(CommunicatorContext& blocking, MPI_Comm comm, int rank, int size, Slots, Reason& reason);
// The same for persistent operations, one at a time, whose memory follows from the plan.
std::unique_ptr<CommunicatorContext> activate_for_persistent(CommunicatorContext& blocking, Slots, Reason& reason);
// Gives what was decided its memory on each node, or takes what an operation before it had; false, and why: there is none.
bool give_memory(CommunicatorContext& persistent, const Decision&, CommunicatorContext& blocking, MPI_Comm comm, int rank, int size, Reason& reason);

}  // namespace fanlight
