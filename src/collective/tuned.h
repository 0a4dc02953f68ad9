// The rules that `fanlight tune` measured on this machine.  One rank reads them, and all use them.
#pragma once

#include <memory>

#include "collective/mpi_header.h"
#include "select/select.h"

namespace fanlight::tuned {

using Rules = std::shared_ptr<const TunedRules>;

// What this process has come to know, from a file or from a rank 0; null: nothing yet.  Rank 0 of a
// communicator reads the file where it knows nothing.
Rules known(int rank);

// By all ranks together: rank 0's.
Rules of_rank_0(const Rules& own, MPI_Comm, int rank);

}  // namespace fanlight::tuned
