// The transports of the remote executor over the MPI library.
#pragma once

#include <memory>

#include "collective/mpi_header.h"
#include "transport/remote.h"

namespace fanlight {

// All ranks of `comm`; it is split, so that nothing is mixed with the program's messages.
std::unique_ptr<RemoteTransport> make_message_transport(MPI_Comm comm);
std::unique_ptr<RemoteTransport> make_window_transport(MPI_Comm comm, Transport);

}  // namespace fanlight
