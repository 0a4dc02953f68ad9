// The collective operations by MPI's arguments.  Each returns what served the call, or null if the MPI library must serve
// it (Call has the reason).  All ranks decide alike, because the decision depends only on what MPI guarantees to be the
// same on all of them: total bytes, operator, root, communicator.  Wrong arguments are the one exception: such a call goes
// to the MPI library, whose error handler raises the error.  Of lengths that do not match the error is Fanlight's, on all
// ranks.
#pragma once

#include "collective/call.h"
#include "collective/mpi_header.h"

namespace fanlight {

const Decision* barrier(Call&);
const Decision* bcast(Call&, void* buffer, MPI_Count count, MPI_Datatype, int root);

const Decision* reduce(Call&, const void* send, void* receive, MPI_Count count, MPI_Datatype, MPI_Op, int root);
const Decision* allreduce(Call&, const void* send, void* receive, MPI_Count count, MPI_Datatype, MPI_Op);
const Decision* scan(Call&, const void* send, void* receive, MPI_Count count, MPI_Datatype, MPI_Op);
const Decision* exscan(Call&, const void* send, void* receive, MPI_Count count, MPI_Datatype, MPI_Op);
const Decision* reduce_scatter_block(Call&, const void* send, void* receive, MPI_Count count, MPI_Datatype, MPI_Op);

const Decision* allgather(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                          void* receive, MPI_Count receive_count, MPI_Datatype receive_type);
const Decision* gather(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                       void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root);
const Decision* scatter(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root);
const Decision* alltoall(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                         void* receive, MPI_Count receive_count, MPI_Datatype receive_type);

// Counts and displacements are int, or MPI_Count and MPI_Aint.
template <class C, class D>
const Decision* allgatherv(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                           void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type);
template <class C, class D>
const Decision* gatherv(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type, int root);
template <class C, class D>
const Decision* scatterv(Call&, const void* send, const C* send_counts, const D* displacements, MPI_Datatype send_type,
                         void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root);
template <class C, class D>
const Decision* alltoallv(Call&, const void* send, const C* send_counts, const D* send_displacements, MPI_Datatype send_type,
                          void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type);
template <class C, class D>
const Decision* alltoallw(Call&, const void* send, const C* send_counts, const D* send_displacements, const MPI_Datatype* send_types,
                          void* receive, const C* receive_counts, const D* receive_displacements, const MPI_Datatype* receive_types);
// Neighborhoods.
const Decision* neighbor_allgather(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                   void* receive, MPI_Count receive_count, MPI_Datatype receive_type);
const Decision* neighbor_alltoall(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                  void* receive, MPI_Count receive_count, MPI_Datatype receive_type);
template <class C, class D>
const Decision* neighbor_allgatherv(Call&, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                    void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type);
template <class C, class D>
const Decision* neighbor_alltoallv(Call&, const void* send, const C* send_counts, const D* send_displacements, MPI_Datatype send_type,
                                   void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type);
template <class C>
const Decision* neighbor_alltoallw(Call&, const void* send, const C* send_counts, const MPI_Aint* send_displacements, const MPI_Datatype* send_types,
                                   void* receive, const C* receive_counts, const MPI_Aint* receive_displacements, const MPI_Datatype* receive_types);

template <class C>
const Decision* reduce_scatter(Call&, const void* send, void* receive, const C* receive_counts, MPI_Datatype, MPI_Op);

}  // namespace fanlight
