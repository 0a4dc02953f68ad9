// alltoallv, alltoallw: blocks of their own lengths to each rank and from each; alltoallw's have
// datatypes of their own as well.
#include <algorithm>
#include <vector>

#include "collective/buffers.h"
#include "collective/operations.h"

namespace fanlight {

namespace {

// One side's blocks, by the ranks they go to or come from.
using Blocks = std::vector<Elements>;

// The datatypes of one side, and what its displacements count.
struct OneForAll {
    MPI_Datatype handle;
    const Datatype* found = nullptr;

    bool acceptable() { return (found = datatype(handle)) != nullptr; }
    const Datatype* of(int) const { return found; }
    std::ptrdiff_t unit() const { return found->extent; }
};
struct OneForEach {
    const MPI_Datatype* handles;

    bool acceptable() const { return handles != nullptr; }
    const Datatype* of(int rank) const { return datatype(handles[rank]); }
    std::ptrdiff_t unit() const { return 1; }
};

template <class C, class D, class Types>
bool acceptable(const void* memory, const C* counts, const D* displacements, Types types, int size, Blocks& blocks) {
    if (!counts || !displacements || memory == MPI_IN_PLACE || !types.acceptable()) return false;
    blocks.assign(static_cast<std::size_t>(size), {});
    for (int r = 0; r < size; ++r) {
        if (counts[r] < 0) return false;
        if (counts[r] == 0) continue;  // whose datatype some libraries do not look at
        const Datatype* const type = types.of(r);
        if (!type) return false;
        const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(displacements[r]) * types.unit();
        // In bytes they may be addresses: then null is MPI_BOTTOM.
        const bool addresses = types.unit() == 1 && distance != 0;
        if (!memory && type->size > 0 && !addresses && (type->named() || type->packed)) return false;
        blocks[static_cast<std::size_t>(r)] = {static_cast<const std::byte*>(memory) + distance, counts[r], type};
    }
    return true;
}

std::size_t bytes_of(const Elements& e) { return e.count ? e.bytes() : 0; }

// Given without MPI_IN_PLACE.  Of other datatypes the elements may lie between each other.
bool same_memory(const Elements& a, const Elements& b) {
    return bytes_of(a) && bytes_of(b) && a.memory == b.memory && a.datatype->packed && b.datatype->packed;
}

bool all_packed(const Blocks& blocks) {
    return std::all_of(blocks.begin(), blocks.end(), [](const Elements& e) { return !bytes_of(e) || e.datatype->packed; });
}

// Where they lie in the program's memory, from the first one's address, which is returned.
std::byte* as_they_lie(const Blocks& blocks, std::vector<Block>& places) {
    const std::byte* first = nullptr;
    for (const Elements& e : blocks)
        if (bytes_of(e) && (!first || e.memory < first)) first = e.at(0);
    places.clear();
    for (const Elements& e : blocks)
        places.push_back({bytes_of(e) ? static_cast<std::size_t>(e.at(0) - first) : 0, bytes_of(e)});
    return const_cast<std::byte*>(first);
}

// One behind the other.
std::byte* in_line(const Blocks& blocks, std::vector<Block>& places, Workspace& workspace, Workspace::Use use) {
    std::size_t total = 0;
    places.clear();
    for (const Elements& e : blocks) {
        places.push_back({total, bytes_of(e)});
        total += bytes_of(e);
    }
    return workspace.get(use, total);
}

void pack_all(const Blocks& blocks, const std::vector<Block>& places, std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r) {
        const Elements& e = blocks[r];
        if (places[r].bytes == 0) continue;
        if (e.datatype->packed) std::memcpy(packed + places[r].offset, e.memory, places[r].bytes);
        else pack(*e.datatype, e.memory, static_cast<std::size_t>(e.count), packed + places[r].offset);
    }
}
void unpack_all(const Blocks& blocks, const std::vector<Block>& places, const std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r) {
        const Elements& e = blocks[r];
        void* const memory = const_cast<void*>(e.memory);
        if (places[r].bytes == 0) continue;
        if (e.datatype->packed) std::memcpy(memory, packed + places[r].offset, places[r].bytes);
        else unpack(*e.datatype, packed + places[r].offset, memory, static_cast<std::size_t>(e.count));
    }
}

// No rank knows the lengths of others: nothing may depend on them.
const Decision& decide_blindly(Serving& s) {
    LastCall& last = s.last(Operation::alltoallv);
    if (!last.decision) last = {.decision = &s.decide({.operation = Operation::alltoallv})};
    return *last.decision;
}

template <class C, class D, class Types>
const Decision* exchange(Call& call, const void* send, const C* send_counts, const D* send_displacements, Types send_types,
                         void* receive, const C* receive_counts, const D* receive_displacements, Types receive_types) {
    Serving* s = call.serving();
    if (!s) return nullptr;
    static thread_local Blocks from, to;  // so that a call allocates nothing
    static thread_local Problem problem;
    const bool in_place = send == MPI_IN_PLACE;
    const auto own = static_cast<std::size_t>(s->rank);
    if (!acceptable(receive, receive_counts, receive_displacements, receive_types, s->size, to)) return call.pass(Reason::arguments);
    if (!in_place && (!acceptable(send, send_counts, send_displacements, send_types, s->size, from) ||
                      bytes_of(from[own]) != bytes_of(to[own]) || same_memory(from[own], to[own])))
        return call.pass(Reason::arguments);
    const Decision& d = decide_blindly(*s);
    if (!d.algorithm) return call.pass(d.reason);
    if (call.starts() && !Call::can_start(*s, d)) return call.pass(Reason::lengths);

    const Trim trim{s->workspace};
    problem.operation = Operation::alltoallv;
    problem.rank = s->rank;
    problem.size = s->size;
    problem.parameters = d.parameters;
    const bool direct = all_packed(to);
    std::byte* const output = direct ? as_they_lie(to, problem.blocks) : in_line(to, problem.blocks, call.workspace(*s), Workspace::output);
    const Blocks& sent = in_place ? to : from;
    const std::byte* input;
    if (!in_place && all_packed(sent)) {
        input = as_they_lie(sent, problem.sends);
    } else {
        std::byte* const packed = in_line(sent, problem.sends, call.workspace(*s), Workspace::input);
        pack_all(sent, problem.sends, packed);
        input = packed;
    }
    if (direct) {
        call.run_alltoallv(*s, d, problem, input, output, [] {});
    } else if (call.starts()) {
        Blocks kept = to;
        for (Elements& e : kept)
            if (e.datatype) e.datatype = call.kept(e.datatype);
        call.run_alltoallv(*s, d, problem, input, output, [=, places = problem.blocks] { unpack_all(kept, places, output); });
    } else {
        s->run_alltoallv(d, problem, input, output);
        unpack_all(to, problem.blocks, output);
    }
    return &d;
}

}  // namespace

template <class C, class D>
const Decision* alltoallv(Call& call, const void* send, const C* send_counts, const D* send_displacements, MPI_Datatype send_type,
                          void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type) {
    return exchange(call, send, send_counts, send_displacements, OneForAll{send_type}, receive, receive_counts,
                    receive_displacements, OneForAll{receive_type});
}

template <class C, class D>
const Decision* alltoallw(Call& call, const void* send, const C* send_counts, const D* send_displacements, const MPI_Datatype* send_types,
                          void* receive, const C* receive_counts, const D* receive_displacements, const MPI_Datatype* receive_types) {
    return exchange(call, send, send_counts, send_displacements, OneForEach{send_types}, receive, receive_counts,
                    receive_displacements, OneForEach{receive_types});
}

#define FANLIGHT_VARIABLE(C, D)                                                                                           \
    template const Decision* alltoallv(Call&, const void*, const C*, const D*, MPI_Datatype, void*, const C*, const D*,   \
                                       MPI_Datatype);                                                                     \
    template const Decision* alltoallw(Call&, const void*, const C*, const D*, const MPI_Datatype*, void*, const C*,      \
                                       const D*, const MPI_Datatype*);
FANLIGHT_VARIABLE(int, int)
FANLIGHT_VARIABLE(MPI_Count, MPI_Aint)

}  // namespace fanlight
