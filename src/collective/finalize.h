// What Fanlight does at the end of MPI.
#pragma once

namespace fanlight {

// Ends all groups, then writes the report.  All ranks, before the MPI library's MPI_Finalize;
// afterwards every call goes to the MPI library.
void finalize();

}  // namespace fanlight
