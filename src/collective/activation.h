// The step from a communicator of the MPI library to groups of Fanlight's.
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
std::unique_ptr<CommunicatorContext> activate_for_requests(CommunicatorContext& blocking, MPI_Comm comm, int rank, int size, SharedSlots::Capacity,
                                               Slots, Reason& reason);

}  // namespace fanlight
