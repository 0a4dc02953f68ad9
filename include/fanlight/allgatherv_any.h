// An allgatherv whose counts need not be known: every rank gives what it has, and all get the counts
// together with the data.  It replaces an MPI_Allgather of the counts and an MPI_Allgatherv, and is one
// operation if the blocks are about as long as in the calls before.
//
//   int counts[size], displs[size];
//   switch (fanlight_allgatherv_any(mine, n, MPI_DOUBLE, all, capacity, counts, displs, MPI_DOUBLE, comm)) {
//   case MPI_SUCCESS: ...  // rank r's are all[displs[r]] .. all[displs[r] + counts[r] - 1]
//   case MPI_ERR_TRUNCATE: // on all ranks: make `all` larger, and fetch what is still in `mine`:
//       MPI_Allgatherv(mine, n, MPI_DOUBLE, all, counts, displs, MPI_DOUBLE, comm);
//   }
//
// The blocks follow each other in rank order: displs[r] is the sum of counts[0 .. r - 1].
// Like MPI's collectives, all ranks of the communicator must call it in the same order.
//
// Link the program with Fanlight's library of the MPI's ABI before the MPI library, or preload it.
#ifndef FANLIGHT_ALLGATHERV_ANY_H
#define FANLIGHT_ALLGATHERV_ANY_H

#ifndef MPI_VERSION
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

// recvcapacity is the number of elements of recvtype that fit into recvbuf; it must be the same number
// of bytes on all ranks.  recvcounts and displs are results, one for each rank, in elements of recvtype.
// sendbuf must not be MPI_IN_PLACE and must not overlap recvbuf; comm must not be an intercommunicator.
//
// Errors are returned and call no error handler, except those of the MPI library itself:
//   MPI_ERR_TRUNCATE  there is more than recvcapacity; recvcounts and displs are right, and
//                     recvbuf is unchanged
//   MPI_ERR_COUNT     a count is negative, or there are more than INT_MAX elements in all
//   MPI_ERR_TYPE      a datatype may not be used, or what some rank gave is not a whole number of
//                     elements of recvtype
//   MPI_ERR_BUFFER, MPI_ERR_ARG, MPI_ERR_COMM  that argument is wrong
// The first is the same on all ranks, as are those that follow from what the ranks gave together.
// Ranks that call different collectives get MPI_ERR_OTHER through the communicator's error handler.
int fanlight_allgatherv_any(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                            void *recvbuf, int recvcapacity, int recvcounts[], int displs[],
                            MPI_Datatype recvtype, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
