#include "collective/neighborhood.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "collective/keyval.h"
#include "collective/library.h"

namespace fanlight {

namespace {

// Of made_with_topology(): its value is the topology, also of what is duplicated.
std::atomic<int> made_with{MPI_KEYVAL_INVALID};

extern "C" int fanlight_copy_topology(MPI_Comm, int, void*, void* value, void* copy, int* copies) {
    *static_cast<void**>(copy) = value;
    *copies = 1;
    return MPI_SUCCESS;
}
extern "C" int fanlight_forget_topology(MPI_Comm, int, void*, void*) { return MPI_SUCCESS; }

int topology_of(MPI_Comm comm) {
    int topology = MPI_UNDEFINED, found = 0;
    if (mpi().Topo_test(comm, &topology) != MPI_SUCCESS) return MPI_UNDEFINED;
    void* value = nullptr;
    if (const int key = made_with; key != MPI_KEYVAL_INVALID) mpi().Comm_get_attr(comm, key, &value, &found);
    return found && reinterpret_cast<std::intptr_t>(value) != topology ? MPI_UNDEFINED : topology;
}

void find_neighbors(MPI_Comm comm, int rank, int topology, Neighborhood& n) {
    if (topology == MPI_CART) {
        int dimensions = 0;
        mpi().Cartdim_get(comm, &dimensions);
        for (int d = 0; d < dimensions; ++d) {
            int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
            mpi().Cart_shift(comm, d, 1, &below, &above);
            n.sources.insert(n.sources.end(), {below, above});
        }
        n.targets = n.sources;
    } else if (topology == MPI_GRAPH) {
        int count = 0;
        mpi().Graph_neighbors_count(comm, rank, &count);
        n.sources.resize(static_cast<std::size_t>(count));
        mpi().Graph_neighbors(comm, rank, count, n.sources.data());
        n.targets = n.sources;
    } else {
        int in = 0, out = 0, weighted = 0;
        mpi().Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        n.sources.resize(static_cast<std::size_t>(in));
        n.targets.resize(static_cast<std::size_t>(out));
        std::vector<int> of_sources(n.sources.size()), of_targets(n.targets.size());
        mpi().Dist_graph_neighbors(comm, in, n.sources.data(), of_sources.data(), out, n.targets.data(), of_targets.data());
    }
    for (auto* list : {&n.sources, &n.targets}) std::replace(list->begin(), list->end(), int{MPI_PROC_NULL}, int{Neighborhood::nobody});
}

// MPI_Graph_create takes edges that one end alone names, and Open MPI 5.0.11's MPI_Comm_create_group hands
// the graph on to fewer ranks: the exchange below would wait for ever.  The same on all ranks.
bool is_known_at_both_ends(MPI_Comm comm, const Neighborhood& n) {
    int size = 0;
    mpi().Comm_size(comm, &size);
    struct Edges {
        int to = 0, from = 0;
    };
    std::vector<Edges> own(static_cast<std::size_t>(size)), theirs(static_cast<std::size_t>(size));
    int fits = 1, all_fit = 0;
    const auto count = [&](const std::vector<int>& ranks, int Edges::*which) {
        for (const int r : ranks)
            if (r >= 0 && r < size) ++(own[static_cast<std::size_t>(r)].*which);
            else if (r != Neighborhood::nobody) fits = 0;
    };
    count(n.targets, &Edges::to);
    count(n.sources, &Edges::from);
    mpi().Alltoall(own.data(), 2, MPI_INT, theirs.data(), 2, MPI_INT, comm);
    for (std::size_t r = 0; r < own.size(); ++r) fits &= own[r].to == theirs[r].from && own[r].from == theirs[r].to;
    mpi().Allreduce(&fits, &all_fit, 1, MPI_INT, MPI_MIN, comm);
    return all_fit != 0;
}

// Of each of this rank's sources: at which place its owner has what comes from there.
std::vector<int> places_at_sources(MPI_Comm comm, const Neighborhood& n) {
    std::vector<int> own(n.targets.size() + 1), theirs(n.sources.size() + 1, -1);  // with an address in any case
    std::iota(own.begin(), own.end(), 0);
    mpi().Neighbor_alltoall(own.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, comm);
    return theirs;
}

}  // namespace

void made_with_topology([[maybe_unused]] MPI_Comm comm, [[maybe_unused]] int topology) {
#if defined(OPEN_MPI)
    if (comm == MPI_COMM_NULL) return;
    const int key = keyval(made_with, mpi().Comm_create_keyval, mpi().Comm_free_keyval, fanlight_copy_topology, fanlight_forget_topology);
    mpi().Comm_set_attr(comm, key, reinterpret_cast<void*>(static_cast<std::intptr_t>(topology)));
#endif
}

Places places_of_neighbors(MPI_Comm comm) {
    const int topology = topology_of(comm);
    if (topology == MPI_UNDEFINED) return {};
    int rank = 0;
    mpi().Comm_rank(comm, &rank);
    Neighborhood n;
    find_neighbors(comm, rank, topology, n);
    return {static_cast<int>(n.sources.size()), static_cast<int>(n.targets.size())};
}

std::shared_ptr<const Neighborhood> Neighborhood::of(MPI_Comm comm, int rank) {
    const int topology = topology_of(comm);
    if (topology == MPI_UNDEFINED) return nullptr;
    auto n = std::make_shared<Neighborhood>();
    find_neighbors(comm, rank, topology, *n);
    if (!is_known_at_both_ends(comm, *n)) return nullptr;
    const std::vector<int> theirs = places_at_sources(comm, *n);

    for (std::size_t i = 0; i < n->targets.size(); ++i)
        if (n->targets[i] != nobody && n->targets[i] != rank) n->edges.push_back({rank, n->targets[i], static_cast<int>(i), nobody});
    const auto incoming = static_cast<std::ptrdiff_t>(n->edges.size());
    for (std::size_t i = 0; i < n->sources.size(); ++i)
        if (n->sources[i] != nobody) n->edges.push_back({n->sources[i], rank, theirs[i], static_cast<int>(i)});
    std::stable_sort(n->edges.begin() + incoming, n->edges.end(), [](const Edge& a, const Edge& b) { return a.sent < b.sent; });

    const auto without_nobody = [](std::vector<int> ranks) {
        std::erase(ranks, nobody);
        return ranks;
    };
    const auto peers = [&](const std::vector<int>& ranks) {
        const std::vector<int> all = without_nobody(ranks);
        return std::set(all.begin(), all.end()).size();
    };
    // What is not as it must be: an edge that only one of its ends knows.
    const bool known = std::all_of(n->edges.begin(), n->edges.end(), [](const Edge& e) { return e.sent >= 0; });
    const bool several = peers(n->sources) < without_nobody(n->sources).size();
    const int facts[4] = {!known, several, static_cast<int>(std::max(n->sources.size(), n->targets.size())),
                          static_cast<int>(std::max(peers(n->sources), peers(n->targets)))};
    int most[4] = {1, 0, 0, 0};
    mpi().Allreduce(facts, most, 4, MPI_INT, MPI_MAX, comm);
    if (most[0] != 0) return nullptr;
    n->several_edges = most[1] != 0;
    n->most = {static_cast<std::size_t>(most[2]), static_cast<std::size_t>(most[3])};
    return n;
}

}  // namespace fanlight
