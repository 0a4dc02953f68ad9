// Collects text from all ranks of MPI_COMM_WORLD at the rank that writes a file.  They take part once they have agreed on
// it, in their second blocking collective call on a communicator of them all.  If they never make one, some may not have
// this library, or not know of the file: then each collects its own, for a file of its own.
#pragma once

#include <string>

#include "collective/mpi_header.h"

namespace fanlight {

// The first rank of `all` that has a name for the file; -1: none has.  By all of them.
int writer_of(const std::string& file, MPI_Comm all);
// What all of them have, one after the other; empty on the others.  By all of them.
std::string gathered_text(const std::string& own, int writer, MPI_Comm all);
// A job that was spawned has a file of its own, beside that of the job that spawned it; so has a rank that collects alone
// (MPI_COMM_SELF).
std::string name_in_this_job(const std::string& file, MPI_Comm all);

// The first line of what the MPI library calls itself, for JSON.
std::string library_version();

}  // namespace fanlight
