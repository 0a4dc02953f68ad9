// Collects text from all ranks of MPI_COMM_WORLD at the rank that writes a file.
#pragma once

#include <string>

namespace fanlight {

// The first rank that has a name for the file; -1: none has.  By all ranks.
int writer_of(const std::string& file);
// What all ranks have, one after the other; empty on the others.  By all ranks.
std::string gathered_text(const std::string& own, int writer);
// A job that was spawned has a file of its own, beside that of the job that spawned it.
std::string name_in_this_job(const std::string& file);

// The first line of what the MPI library calls itself, for JSON.
std::string library_version();

}  // namespace fanlight
