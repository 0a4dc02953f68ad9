// The end of MPI, seen from Fanlight.
#pragma once

namespace fanlight {

// Writes the report, then ends all groups.  All ranks, before the MPI library's MPI_Finalize;
// afterwards every call goes to the MPI library.
void finalize();

}  // namespace fanlight
