// Who a rank's neighbors are (MPI's process topologies), and which of their blocks belong together.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collective/mpi_header.h"
#include "execute/planner.h"

namespace fanlight {

struct Neighborhood {
    static constexpr int nobody = -1;  // MPI_PROC_NULL: the edge of a grid

    // By their places in MPI's buffers.
    std::vector<int> sources, targets;
    // This rank's edges, those between the same two ranks in the same order at both.
    struct Edge {
        int from, to;
        int sent, taken;  // places in the buffers of the one and, of edges to this rank, the other
    };
    std::vector<Edge> edges;
    MostNeighbors most;
    bool several_edges = false;     // between the same two ranks, somewhere

    // To be called by all ranks together.  Null where the communicator has no topology.
    //
    // Of several edges between two ranks the standard says which block belongs to which (of a
    // periodic dimension of 1 or 2 the one that is sent down arrives as the one from above), but not
    // all MPI libraries do as it says (Intel MPI 2021).  A program must not see a difference between
    // calls that are served and those that are not: so the MPI library is asked, by a call of its own.
    static std::shared_ptr<const Neighborhood> of(MPI_Comm, int rank);
};

// A communicator was made with this topology (MPI_UNDEFINED: with none, by MPI_Comm_create_group), and nothing else
// may be asked of it.  Open MPI 5.0.11 takes a graph that is made of a grid's communicator for a grid, and crashes
// when it is asked for that; MPI_Comm_create_group's has its parent's topology, which ends with that one.
void made_with_topology(MPI_Comm, int topology);

// How many places a neighborhood's buffers have; none without a topology.
struct Places {
    int sources = 0, targets = 0;
};
Places places_of_neighbors(MPI_Comm);

}  // namespace fanlight
