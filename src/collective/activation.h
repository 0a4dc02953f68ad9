// The step from a communicator of the MPI library to groups of Fanlight's.
#pragma once

#include <memory>

#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "collective/serving.h"
#include "collective/transports.h"

namespace fanlight {

// All ranks of `comm` call it together; all get one, or none and the same reason.
std::unique_ptr<Serving> activate(MPI_Comm comm, int rank, int size, Reason& reason);

// For operations that are under way while their ranks do other things, of a communicator that
// `blocking` serves.  Of several nodes: messages that no others of it have, by their slots.
std::unique_ptr<Serving> activate_for_requests(Serving& blocking, MPI_Comm comm, int rank, int size, Slots, Reason& reason);
// The same for persistent operations, one at a time, whose memory follows from the plan.
std::unique_ptr<Serving> activate_for_persistent(Serving& blocking, Slots, Reason& reason);
// Gives what was decided its memory on each node, or takes what an operation before it had; false, and why: there is none.
bool give_memory(Serving& persistent, const Decision&, Serving& blocking, MPI_Comm comm, int rank, int size, Reason& reason);

}  // namespace fanlight
