// neighbor_allgather(v), neighbor_alltoall(v, w): a block along each edge of the communicator's graph.
#include <algorithm>
#include <utility>
#include <vector>

#include "collective/block_lists.h"
#include "collective/neighborhood.h"
#include "collective/operations.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

// One side's blocks by their places in MPI's buffer, and where the executor finds them.
struct Side {
    Blocks blocks;
    std::vector<Block> places;
    std::byte* bytes = nullptr;
    bool packed = false;  // bytes are the program's own
};
struct Sides {
    Side from, to;
};

// What is not there, since a neighbor is not, MPI does not look at.
bool has_any(const std::vector<int>& neighbors) {
    return std::any_of(neighbors.begin(), neighbors.end(), [](int r) { return r != Neighborhood::nobody; });
}

// Blocks of one length, one behind the other, also where there is no neighbor.
bool blocks_of(const std::vector<int>& neighbors, const void* memory, MPI_Count count, MPI_Datatype handle, Side& side) {
    if (memory == MPI_IN_PLACE) return false;
    side.blocks.assign(neighbors.size(), {});
    side.places.assign(neighbors.size(), {});
    side.packed = true;
    side.bytes = nullptr;
    if (!has_any(neighbors)) return true;
    Elements one;
    if (!acceptable(memory, count, handle, one)) return false;
    for (std::size_t i = 0; i < neighbors.size(); ++i) {
        if (neighbors[i] == Neighborhood::nobody) continue;
        side.blocks[i] = one.part(static_cast<std::ptrdiff_t>(i) * count, count);
        side.places[i] = {i * one.bytes(), one.bytes()};
    }
    side.packed = one.direct();
    side.bytes = static_cast<std::byte*>(const_cast<void*>(memory));
    return true;
}

// An allgather's one block, which goes along all edges.
bool own_block_of(const std::vector<int>& neighbors, const void* memory, MPI_Count count, MPI_Datatype handle, Side& side) {
    if (memory == MPI_IN_PLACE) return false;
    side.blocks.assign(1, {});
    side.places.assign(neighbors.size(), {});
    side.packed = true;
    side.bytes = nullptr;
    if (!has_any(neighbors)) return true;
    Elements& one = side.blocks[0];
    if (!acceptable(memory, count, handle, one)) return false;
    std::fill(side.places.begin(), side.places.end(), Block{0, one.bytes()});
    side.packed = one.direct();
    side.bytes = static_cast<std::byte*>(const_cast<void*>(memory));
    return true;
}

template <class C, class D, class Types>
bool blocks_of(const std::vector<int>& neighbors, const void* memory, const C* counts, const D* displacements, Types types, Side& side) {
    const auto none = [&](int place) { return neighbors[static_cast<std::size_t>(place)] == Neighborhood::nobody; };
    if (!acceptable(memory, counts, displacements, types, static_cast<int>(neighbors.size()), side.blocks, none)) return false;
    side.packed = all_packed(side.blocks);
    if (side.packed) side.bytes = as_they_lie(side.blocks, side.places);
    else put_in_line(side.blocks, side.places);
    return true;
}

// Room for what does not lie packed in the program's memory.
void use_copies(Side& side, Workspace& workspace, Workspace::Use use) {
    if (side.packed) return;
    std::size_t end = 0;
    for (const Block& b : side.places) end = std::max(end, b.offset + b.bytes);
    side.bytes = workspace.get(use, end);
}

struct Lengths {
    std::size_t sent = 0, taken = 0;
};
// Of a block that this rank sends to itself: those that differ, if any do.
Lengths set_edges(CommunicatorContext& s, const Side& from, const Side& to, Problem& problem) {
    Lengths own;
    for (const Neighborhood::Edge& e : s.neighborhood->edges) {
        Edge edge{.from = e.from, .to = e.to};
        const Block* const sent = e.from == s.rank ? &from.places[static_cast<std::size_t>(e.sent)] : nullptr;
        const Block* const taken = e.to == s.rank ? &to.places[static_cast<std::size_t>(e.taken)] : nullptr;
        if (sent && taken && sent->bytes != taken->bytes) own = {sent->bytes, taken->bytes};
        edge.bytes = sent ? sent->bytes : taken->bytes;
        if (sent) edge.sent = sent->offset;
        else if (problem.operation == Operation::neighbor_alltoall) edge.sent = static_cast<std::size_t>(e.sent) * edge.bytes;
        if (taken) edge.taken = taken->offset;
        problem.edges.push_back(edge);
    }
    return own;
}

// What several edges bring from one rank goes once (algorithms/neighbors.h).
void check_lengths(CommunicatorContext& s, const Problem& problem) {
    for (const Edge& e : problem.edges)
        for (const Edge& other : problem.edges)
            if (e.to == s.rank && other.to == s.rank && e.from == other.from && e.bytes != other.bytes) s.neighbors_block_differs(e.from, e.bytes, other.bytes);
}

// The graph, if this operation is served there; all ranks find the same.
const Neighborhood* neighborhood(Call& call, CommunicatorContext* s, Operation operation) {
    if (!s) return nullptr;
#if defined(OPEN_MPI)
    // Open MPI 5.0.11 pairs them in one way in the blocking ones, in another in these.
    if (s->neighborhood && s->neighborhood->several_edges && call.starts()) {
        call.pass(Reason::pairing);
        return nullptr;
    }
#endif
    const Decision* const left = s->neighborhood ? s->left_at_any_length(operation) : nullptr;
    call.pass(left ? left->reason : Reason::arguments);
    return left ? nullptr : s->neighborhood.get();
}

const Decision* run(Call& call, CommunicatorContext& s, Operation operation, Sides& sides) {
    auto& [from, to] = sides;
    Problem& problem = s.problem(operation);
    const Lengths own = set_edges(s, from, to, problem);
    const Decision& chosen = s.decide(problem);
    s.last(operation) = {.decision = &chosen};
    if (!call.serves(chosen) || !call.own_block_fits(s, operation, own.sent, own.taken)) return nullptr;
    if (operation == Operation::neighbor_allgather && s.neighborhood->several_edges) check_lengths(s, problem);
    const Decision& d = call.planned(s, chosen, problem);
    s.last(operation).decision = &d;
    const Trim trim{s.workspace};
    use_copies(from, call.workspace(s), Workspace::input);
    use_copies(to, call.workspace(s), Workspace::output);
    if (!from.packed) pack_all(from.blocks, from.places, from.bytes);
    run_into(call, s, d, from.bytes, to.bytes, to.packed, to.blocks, to.places);
    return &d;
}

Sides& sides() { return per_thread<Sides>(); }

// The fast path: the same counts and named datatypes as at the last call.
bool same_call(const LastCall& last, const void* send, MPI_Count send_count, MPI_Datatype send_type, const void* receive,
               MPI_Count receive_count, MPI_Datatype receive_type) {
    return send_count >= 0 && last.count == send_count && last.datatype == send_type && last.other_count == receive_count &&
           last.other_datatype == receive_type && ordinary(send) && ordinary(receive);
}

void remember(LastCall& last, const Side& from, MPI_Count send_count, MPI_Datatype send_type, const Side& to,
              MPI_Count receive_count, MPI_Datatype receive_type) {
    const auto plain = [](const Side& side) {
        return std::all_of(side.blocks.begin(), side.blocks.end(), [](const Elements& e) { return !e.datatype || is_plain(e); });
    };
    if (!plain(from) || !plain(to)) return;
    last.count = send_count;
    last.datatype = send_type;
    last.other_count = receive_count;
    last.other_datatype = receive_type;
}

// `send_as` lists what is sent.
template <class SendAs>
const Decision* regular(Call& call, Operation operation, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, MPI_Count receive_count, MPI_Datatype receive_type, SendAs&& send_as) {
    CommunicatorContext* const s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(operation);
    if (same_call(last, send, send_count, send_type, receive, receive_count, receive_type)) [[likely]]
        return call.serve(*s, *last.decision, send, receive);
    const Neighborhood* const n = neighborhood(call, s, operation);
    if (!n) return nullptr;
    auto& [from, to] = sides();
    if (!send_as(n->targets, from) || !blocks_of(n->sources, receive, receive_count, receive_type, to))
        return call.pass(Reason::arguments);
    const Decision* const d = run(call, *s, operation, sides());
    if (d || !last.decision->algorithm) remember(last, from, send_count, send_type, to, receive_count, receive_type);
    return d;
}

}  // namespace

const Decision* neighbor_allgather(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                   void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    return regular(call, Operation::neighbor_allgather, send, send_count, send_type, receive, receive_count, receive_type,
                   [&](const auto& targets, auto& from) { return own_block_of(targets, send, send_count, send_type, from); });
}

const Decision* neighbor_alltoall(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                  void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    return regular(call, Operation::neighbor_alltoall, send, send_count, send_type, receive, receive_count, receive_type,
                   [&](const auto& targets, auto& from) { return blocks_of(targets, send, send_count, send_type, from); });
}

template <class C, class D>
const Decision* neighbor_allgatherv(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                                    void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type) {
    CommunicatorContext* const s = call.context();
    const Neighborhood* const n = neighborhood(call, s, Operation::neighbor_allgather);
    if (!n) return nullptr;
    auto& [from, to] = sides();
    if (!own_block_of(n->targets, send, send_count, send_type, from) ||
        !blocks_of(n->sources, receive, receive_counts, displacements, OneForAll{receive_type}, to))
        return call.pass(Reason::arguments);
    return run(call, *s, Operation::neighbor_allgather, sides());
}

namespace {

template <class C, class D, class Types>
const Decision* exchange(Call& call, const void* send, const C* send_counts, const D* send_displacements, Types send_types,
                         void* receive, const C* receive_counts, const D* receive_displacements, Types receive_types) {
    CommunicatorContext* const s = call.context();
    const Neighborhood* const n = neighborhood(call, s, Operation::neighbor_alltoallv);
    if (!n) return nullptr;
    auto& [from, to] = sides();
    if (!blocks_of(n->targets, send, send_counts, send_displacements, send_types, from) ||
        !blocks_of(n->sources, receive, receive_counts, receive_displacements, receive_types, to))
        return call.pass(Reason::arguments);
    return run(call, *s, Operation::neighbor_alltoallv, sides());
}

}  // namespace

template <class C, class D>
const Decision* neighbor_alltoallv(Call& call, const void* send, const C* send_counts, const D* send_displacements, MPI_Datatype send_type,
                                   void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type) {
    return exchange(call, send, send_counts, send_displacements, OneForAll{send_type}, receive, receive_counts,
                    receive_displacements, OneForAll{receive_type});
}

template <class C>
const Decision* neighbor_alltoallw(Call& call, const void* send, const C* send_counts, const MPI_Aint* send_displacements, const MPI_Datatype* send_types,
                                   void* receive, const C* receive_counts, const MPI_Aint* receive_displacements, const MPI_Datatype* receive_types) {
    return exchange(call, send, send_counts, send_displacements, OneForEach{send_types}, receive, receive_counts,
                    receive_displacements, OneForEach{receive_types});
}

#define FANLIGHT_VARIABLE(C, D)                                                                                           \
    template const Decision* neighbor_allgatherv(Call&, const void*, MPI_Count, MPI_Datatype, void*, const C*, const D*,  \
                                                 MPI_Datatype);                                                           \
    template const Decision* neighbor_alltoallv(Call&, const void*, const C*, const D*, MPI_Datatype, void*, const C*,    \
                                                const D*, MPI_Datatype);                                                  \
    template const Decision* neighbor_alltoallw(Call&, const void*, const C*, const MPI_Aint*, const MPI_Datatype*, void*, \
                                                const C*, const MPI_Aint*, const MPI_Datatype*);
FANLIGHT_VARIABLE(int, int)
FANLIGHT_VARIABLE(MPI_Count, MPI_Aint)

}  // namespace fanlight
