// MPI's collective operations by Fanlight, on the program's communicators: fanlight_allreduce is
// MPI_Allreduce, with the same arguments, meaning and return codes.  Wrong arguments go to the MPI
// library, which calls its own error handler.
//
// Link libfanlight-<abi>.so (mpich: also Intel MPI; openmpi; abi: MPI-5's standard ABI) before the
// MPI library.  The program's MPI_Wait, MPI_Test, MPI_Start and so on then take the requests of
// these functions like any other, in one array with the MPI library's.  Where the MPI library
// comes first, requests are the MPI library's own.  The program's MPI_Allreduce and so on stay
// the MPI library's, unless this library is preloaded too (`fanlight run`): then both kinds are
// served, by the same code and the same groups.
//
// All ranks of a communicator must call the same function: fanlight_bcast on one does not match
// MPI_Bcast on another.  The MPI library serves what Fanlight does not, decided alike on all ranks:
// intercommunicators, a communicator's calls before fanlight_prepare, what a rule leaves to it.
#ifndef FANLIGHT_COLLECTIVES_H
#define FANLIGHT_COLLECTIVES_H

#ifndef MPI_VERSION
#include <mpi.h>
#endif

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FANLIGHT_API
#if defined(__GNUC__)
#define FANLIGHT_API __attribute__((visibility("default")))
#else
#define FANLIGHT_API
#endif
#endif

// ---- not in MPI ---------------------------------------------------------------------------
//
// Errors are raised by the communicator's error handler; MPI_Error_string says what was wrong.

// Collective.  From now on Fanlight serves this communicator, blocking and non-blocking.  Without
// this call, the MPI library serves the first FANLIGHT_START_AFTER calls, and after these the
// non-blocking ones until the next blocking one.
FANLIGHT_API int fanlight_prepare(MPI_Comm comm);

// Collective, with the same text on all ranks: from now on these algorithms serve this
// communicator's calls.  "bcast:tree(degree=4),allreduce:ring"; `native` is the MPI library's own;
// null or "" returns to the rules.  Each call replaces what an earlier one chose; the user's
// FANLIGHT_ALGORITHM takes precedence.  Communicators made from this one begin with the rules.
// Names: `fanlight list`.
//
// If a restriction of the algorithm (a commuting operator, say) forbids a later call, the program
// ends with a message, as it does with FANLIGHT_ALGORITHM.
FANLIGHT_API int fanlight_set_algorithm(MPI_Comm comm, const char *algorithms);

// Local.  Which algorithm would serve a call of this blocking operation ("allreduce") with so many
// bytes, of the vector or of one block, and why, in at most `length` characters with the closing
// zero: "ring by fanlight_set_algorithm: allreduce:ring", "native: first calls on a communicator".
FANLIGHT_API int fanlight_get_algorithm(MPI_Comm comm, const char *operation, MPI_Count bytes,
                                        char *text, int length);

// Call it once on all ranks of MPI_COMM_WORLD: from now on calls are counted and timed, and at
// MPI_Finalize rank 0 writes the report to this file (JSON), or a table to standard error for "-".
// FANLIGHT_REPORT does the same, and names the file if it is set.
FANLIGHT_API int fanlight_report(const char *file);

// Local.  Memory that the other ranks of the node can load from: long messages in it are copied once,
// without a system call, and reduced in place.  MPI_Alloc_mem returns such memory too, if this
// library is preloaded or linked.  Returns null if none is left.  fanlight_free_mem accepts null.
FANLIGHT_API void *fanlight_alloc_mem(size_t bytes);
FANLIGHT_API void fanlight_free_mem(void *block);

// Collective over MPI_COMM_WORLD, while no other thread is in a collective: writes what was counted
// so far.  The first rank that names a file writes it; the others may pass null.  If nothing was
// counted yet (FANLIGHT_REPORT, fanlight_report), counting begins here.
FANLIGHT_API int fanlight_write_report(const char *file);

// ---- blocking -----------------------------------------------------------------------------

// Returns when all ranks have called it.
FANLIGHT_API int fanlight_barrier(MPI_Comm comm);

// Copies the root's `buffer` to all ranks.
FANLIGHT_API int fanlight_bcast(void *buffer, int count, MPI_Datatype datatype, int root,
    MPI_Comm comm);

// Combines the ranks' vectors of `count` elements, element by element, at the root.
FANLIGHT_API int fanlight_reduce(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);

// As reduce, but all ranks get the result, with the same bits everywhere.
FANLIGHT_API int fanlight_allreduce(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

// Rank r gets the combination of the vectors of ranks 0 to r.
FANLIGHT_API int fanlight_scan(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

// Rank r gets the combination of the vectors of ranks 0 to r - 1; rank 0 gets nothing.
FANLIGHT_API int fanlight_exscan(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

// Combines vectors of size x `recvcount` elements; rank r gets block r.
FANLIGHT_API int fanlight_reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

// As reduce_scatter_block, with blocks of `recvcounts[r]` elements.
FANLIGHT_API int fanlight_reduce_scatter(const void *sendbuf, void *recvbuf,
    const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

// On all ranks, block r of `recvbuf`, `recvcount` elements, is rank r's `sendbuf`.
FANLIGHT_API int fanlight_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

// As allgather; rank r's block has `recvcounts[r]` elements and begins at element `displs[r]`.
FANLIGHT_API int fanlight_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype,
    MPI_Comm comm);

// As allgather, but only the root gets the result.
FANLIGHT_API int fanlight_gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);

// As allgatherv, but only the root gets the result.
FANLIGHT_API int fanlight_gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
    MPI_Comm comm);

// Rank r gets block r of the root's `sendbuf`.
FANLIGHT_API int fanlight_scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);

// As scatter; rank r's block has `sendcounts[r]` elements and begins at element `displs[r]`.
FANLIGHT_API int fanlight_scatterv(const void *sendbuf, const int sendcounts[],
    const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);

// Block r of `sendbuf` goes to rank r; block r of `recvbuf` comes from rank r.
FANLIGHT_API int fanlight_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

// As alltoall, with a count and a displacement in elements for each rank.
FANLIGHT_API int fanlight_alltoallv(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

// As alltoall, with a count, a displacement in bytes and a datatype for each rank.
FANLIGHT_API int fanlight_alltoallw(const void *sendbuf, const int sendcounts[],
    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm);

// As MPI_Neighbor_allgather.
FANLIGHT_API int fanlight_neighbor_allgather(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

// As MPI_Neighbor_allgatherv.
FANLIGHT_API int fanlight_neighbor_allgatherv(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[],
    MPI_Datatype recvtype, MPI_Comm comm);

// As MPI_Neighbor_alltoall.
FANLIGHT_API int fanlight_neighbor_alltoall(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm);

// As MPI_Neighbor_alltoallv.
FANLIGHT_API int fanlight_neighbor_alltoallv(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

// As MPI_Neighbor_alltoallw.
FANLIGHT_API int fanlight_neighbor_alltoallw(const void *sendbuf, const int sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm);

// ---- non-blocking -------------------------------------------------------------------------

FANLIGHT_API int fanlight_ibarrier(MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ibcast(void *buffer, int count, MPI_Datatype datatype, int root,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iallreduce(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iscan(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iexscan(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce_scatter(const void *sendbuf, void *recvbuf,
    const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_iscatterv(const void *sendbuf, const int sendcounts[],
    const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoallv(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoallw(const void *sendbuf, const int sendcounts[],
    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_allgather(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_allgatherv(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoall(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoallv(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoallw(const void *sendbuf, const int sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Request *request);

// ---- persistent ---------------------------------------------------------------------------

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

FANLIGHT_API int fanlight_barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_bcast_init(void *buffer, int count, MPI_Datatype datatype, int root,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_reduce_init(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_allreduce_init(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_scan_init(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_exscan_init(const void *sendbuf, void *recvbuf, int count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_reduce_scatter_block_init(const void *sendbuf, void *recvbuf,
    int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_reduce_scatter_init(const void *sendbuf, void *recvbuf,
    const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_allgather_init(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_allgatherv_init(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_gather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_gatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_scatter_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_scatterv_init(const void *sendbuf, const int sendcounts[],
    const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_alltoallv_init(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_alltoallw_init(const void *sendbuf, const int sendcounts[],
    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
    const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_allgather_init(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_allgatherv_init(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoall_init(const void *sendbuf, int sendcount,
    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[],
    const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
    const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoallw_init(const void *sendbuf, const int sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

#endif

// ---- the same with large counts -----------------------------------------------------------

#if MPI_VERSION >= 4

FANLIGHT_API int fanlight_bcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root,
    MPI_Comm comm);

FANLIGHT_API int fanlight_reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);

FANLIGHT_API int fanlight_allreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

FANLIGHT_API int fanlight_scan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

FANLIGHT_API int fanlight_exscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

FANLIGHT_API int fanlight_reduce_scatter_block_c(const void *sendbuf, void *recvbuf,
    MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

FANLIGHT_API int fanlight_reduce_scatter_c(const void *sendbuf, void *recvbuf,
    const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

FANLIGHT_API int fanlight_allgather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm);

FANLIGHT_API int fanlight_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm);

FANLIGHT_API int fanlight_gather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm);

FANLIGHT_API int fanlight_gatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, int root, MPI_Comm comm);

FANLIGHT_API int fanlight_scatter_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm);

FANLIGHT_API int fanlight_scatterv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm);

FANLIGHT_API int fanlight_alltoall_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm);

FANLIGHT_API int fanlight_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

FANLIGHT_API int fanlight_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm);

FANLIGHT_API int fanlight_neighbor_allgather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm);

FANLIGHT_API int fanlight_neighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm);

FANLIGHT_API int fanlight_neighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm);

FANLIGHT_API int fanlight_neighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm);

FANLIGHT_API int fanlight_neighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm);

FANLIGHT_API int fanlight_ibcast_c(void *buffer, MPI_Count count, MPI_Datatype datatype, int root,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iallreduce_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iexscan_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce_scatter_block_c(const void *sendbuf, void *recvbuf,
    MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ireduce_scatter_c(const void *sendbuf, void *recvbuf,
    const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
    MPI_Request *request);

FANLIGHT_API int fanlight_iallgather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iallgatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_igather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_igatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iscatter_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_iscatterv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoall_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ialltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_allgather_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_allgatherv_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoall_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_ineighbor_alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Request *request);

FANLIGHT_API int fanlight_bcast_init_c(void *buffer, MPI_Count count, MPI_Datatype datatype,
    int root, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_reduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_allreduce_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_scan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_exscan_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_reduce_scatter_block_init_c(const void *sendbuf, void *recvbuf,
    MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_reduce_scatter_init_c(const void *sendbuf, void *recvbuf,
    const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_allgather_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_allgatherv_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_gather_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_gatherv_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_scatter_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_scatterv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
    MPI_Request *request);

FANLIGHT_API int fanlight_alltoallw_init_c(const void *sendbuf, const MPI_Count sendcounts[],
    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_allgather_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_allgatherv_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint displs[],
    MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoall_init_c(const void *sendbuf, MPI_Count sendcount,
    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
    MPI_Comm comm, MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoallv_init_c(const void *sendbuf,
    const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
    const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
    MPI_Info info, MPI_Request *request);

FANLIGHT_API int fanlight_neighbor_alltoallw_init_c(const void *sendbuf,
    const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
    void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
    const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request *request);

#endif

#ifdef __cplusplus
}
#endif

#endif
