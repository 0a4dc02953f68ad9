// allgatherv, gatherv, scatterv: each rank's block has its own length and place.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "collective/buffers.h"
#include "collective/operations.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

// All ranks' blocks as one rank's arguments have them.
struct BlockList {
    const Datatype* datatype = nullptr;
    std::vector<std::size_t> bytes;        // packed, of each rank
    std::vector<MPI_Count> counts;
    std::vector<std::ptrdiff_t> distance;  // in memory, from the buffer's start
    std::size_t total = 0;
    bool on_device = false;

    Elements of(std::size_t rank, const void* memory) const {
        return {static_cast<const std::byte*>(memory) + distance[rank], counts[rank], datatype, on_device};
    }
    // One behind the other, packed: then the executor may use the buffer as it is.
    bool in_line(std::ptrdiff_t& start) const {
        if (!datatype->contiguous || on_device) return false;
        std::ptrdiff_t next = 0;
        bool first = true;
        for (std::size_t r = 0; r < bytes.size(); ++r) {
            if (bytes[r] == 0) continue;
            if (first) start = next = distance[r];
            first = false;
            if (distance[r] != next) return false;
            next += static_cast<std::ptrdiff_t>(bytes[r]);
        }
        return true;
    }
};

template <class C, class D>
bool acceptable(const void* memory, const C* counts, const D* displacements, MPI_Datatype handle, int size, BlockList& list) {
    if (!counts || !displacements || memory == MPI_IN_PLACE) return false;
    list.datatype = datatype(handle);
    if (!list.datatype) return false;
    list.total = 0;
    list.on_device = device_memory::holds(memory);
    const auto n = static_cast<std::size_t>(size);
    list.bytes.resize(n);
    list.counts.resize(n);
    list.distance.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
        if (counts[r] < 0) return false;
        list.counts[r] = counts[r];
        list.bytes[r] = static_cast<std::size_t>(counts[r]) * list.datatype->size;
        list.distance[r] = static_cast<std::ptrdiff_t>(displacements[r]) * list.datatype->extent;
        list.total += list.bytes[r];
    }
    return memory || list.total == 0 || !(list.datatype->named() || list.datatype->contiguous);
}

// The blocks one behind the other, whatever their places in the program's memory.  A get names
// its offset at the peer: ranks whose displacements differ must agree on one.
void copy_block(const BlockList& list, std::size_t r, const void* memory, std::byte* packed) {
    if (list.counts[r]) list.of(r, memory).pack(packed);
}
void copy_block_back(const BlockList& list, std::size_t r, const std::byte* packed, void* memory) {
    if (list.counts[r]) list.of(r, memory).unpack(packed);
}
void copy_all(const BlockList& list, const void* memory, std::byte* packed) {
    for (std::size_t r = 0; r < list.bytes.size(); packed += list.bytes[r], ++r) copy_block(list, r, memory, packed);
}
void copy_all_back(const BlockList& list, const std::byte* packed, void* memory) {
    for (std::size_t r = 0; r < list.bytes.size(); packed += list.bytes[r], ++r) copy_block_back(list, r, packed, memory);
}
std::size_t offset_of(const BlockList& list, int rank) {
    std::size_t offset = 0;
    for (int r = 0; r < rank; ++r) offset += list.bytes[static_cast<std::size_t>(r)];
    return offset;
}
std::size_t own_bytes(const BlockList& list, int rank) { return list.bytes[static_cast<std::size_t>(rank)]; }

// The fast path: the same counts, places and named datatypes as at the last call.  `own` is the rank's block by itself; of rooted
// operations the ranks that are not the root have nothing else.
bool same_own(const LastCall& last, const void* own, MPI_Count count, MPI_Datatype handle) {
    return count >= 0 && last.count == count && last.datatype == handle && ordinary(own);
}
template <class C, class D>
bool same_all(const LastCall& last, const void* all, const C* counts, const D* displacements, MPI_Datatype handle, int size) {
    return last.other_datatype == handle && ordinary(all) && last.has_arrays(counts, displacements, size);
}
// ... of a root that has both.
template <class C, class D>
bool same_at_root(const LastCall& last, const void* own, const void* all, const C* counts, const D* displacements, MPI_Datatype handle, int size) {
    if (!same_all(last, all, counts, displacements, handle, size)) return false;
    const std::ptrdiff_t place = last.places[static_cast<std::size_t>(last.root)] * static_cast<std::ptrdiff_t>(last.other_size);
    return !wrongly_in_place(own, static_cast<const std::byte*>(all) + place);
}

void remember_own(LastCall& last, const Decision& d, const Elements& own, MPI_Datatype handle, int root) {
    last.decision = &d;
    last.count = own.count;
    last.datatype = handle;
    last.size = own.datatype->size;
    last.root = root;
}
template <class C, class D>
void remember_all(LastCall& last, const C* counts, const D* displacements, int size, const BlockList& list, MPI_Datatype handle) {
    last.other_datatype = handle;
    last.other_size = list.datatype->size;
    last.counts.clear();
    last.places.clear();
    last.add_arrays(counts, displacements, size);
}
// Rooted operations have plans for lengths that they know; one whose lengths travel first is told them at each call.
bool may_remember(const Call& call, const Decision& d, const Elements& own, bool in_place) {
    return !in_place && is_plain(own) && !call.starts() && !d.plan.lengths;
}

// The datatypes of the last call, other counts, blocks one behind the other: null where that is not so.
template <class C, class D>
const Decision* other_counts(CommunicatorContext& s, const LastCall& last, MPI_Count send_count, const C* counts, const D* displacements) {
    if (!counts || !displacements) return nullptr;
    Problem& p = s.problem(Operation::allgatherv);
    std::int64_t next = displacements[0];
    std::size_t total = 0;
    for (int r = 0; r < s.size; next += counts[r], ++r) {
        if (counts[r] < 0 || displacements[r] != next) return nullptr;
        p.blocks.push_back({total, static_cast<std::size_t>(counts[r]) * last.other_size});
        total += p.blocks.back().bytes;
    }
    if (send_count < 0 || static_cast<std::size_t>(send_count) * last.size != p.block(s.rank).bytes || !can_pack(total)) return nullptr;
    return &s.decide(p);
}

void set_blocks(Problem& p, const BlockList& list) {
    std::size_t offset = 0;
    for (const std::size_t bytes : list.bytes) {
        p.blocks.push_back({offset, bytes});
        offset += bytes;
    }
}
// Of a rank that is not the root.
void set_own_block(Problem& p, std::size_t bytes) {
    p.blocks.resize(static_cast<std::size_t>(p.size));
    p.blocks[static_cast<std::size_t>(p.rank)] = {0, bytes};
}

// Of a rank that receives all ranks' blocks.  `own`: its own, null where that is at its place; `start`: of those in line.
const Decision* run_from_all(Call& call, CommunicatorContext& s, const Decision& d, const Elements* own, BlockList& list, void* receive,
                             bool in_line, std::ptrdiff_t start) {
    std::byte* const output = in_line ? static_cast<std::byte*>(receive) + start : call.workspace(s).get(Workspace::output, list.total);
    std::byte* const own_block = output + offset_of(list, s.rank);
    const std::byte* input = own_block;
    if (own) input = packed_input(*own, call.workspace(s));
    else if (!in_line) copy_block(list, static_cast<std::size_t>(s.rank), receive, own_block);
    if (in_line) {
        call.run(s, d, input, output, nullptr);
        return &d;
    }
    list.datatype = call.kept(list.datatype);
    call.run(s, d, input, output, nullptr, [=, list = std::move(list)] { copy_all_back(list, output, receive); });
    return &d;
}

}  // namespace

template <class C, class D>
const Decision* allgatherv(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                           void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::allgatherv);
    if (same_own(last, send, send_count, send_type) && same_all(last, receive, receive_counts, displacements, receive_type, s->size)) [[likely]] {
        const Decision& d = *last.decision;
        if (!call.serves(d)) return nullptr;
        call.run(*s, d, send, static_cast<std::byte*>(receive) + last.output, nullptr);
        return &d;
    }

    BlockList& list = per_thread<BlockList, struct OfAllgatherv>();
    if (last.other_size && !call.starts() && last.datatype == send_type && last.other_datatype == receive_type && ordinary(send) && ordinary(receive)) {
        const auto element = static_cast<std::ptrdiff_t>(last.other_size);
        if (const Decision* d = other_counts(*s, last, send_count, receive_counts, displacements)) {
            if (!call.serves(*d)) return nullptr;
            call.run(*s, *d, send, static_cast<std::byte*>(receive) + displacements[0] * element, nullptr);
            return d;
        }
    }
    Elements own;
    const bool in_place = send == MPI_IN_PLACE;
    if (!acceptable(receive, receive_counts, displacements, receive_type, s->size, list)) return call.pass(Reason::arguments);
    if (!in_place && (!acceptable(send, send_count, send_type, own) || wrongly_in_place(own, list.of(static_cast<std::size_t>(s->rank), receive))))
        return call.pass(Reason::arguments);
    const std::size_t received = own_bytes(list, s->rank), sent = in_place ? received : own.bytes();
    if (!can_pack(list.total)) return call.pass(Reason::too_large);
    Problem& p = s->problem(Operation::allgatherv);
    set_blocks(p, list);
    const Decision& d = s->decide(p);
    std::ptrdiff_t start = 0;
    const bool in_line = list.in_line(start);
    if (!in_place && sent == received && is_plain(own) && list.datatype->named() && (in_line || (!d.algorithm && list.datatype->contiguous))) {
        remember_own(last, d, own, send_type, -1);
        remember_all(last, receive_counts, displacements, s->size, list, receive_type);
        last.output = start;
    }
    if (!call.serves(d) || !call.own_block_fits(*s, Operation::allgatherv, sent, received)) return nullptr;

    const Trim trim{s->workspace};
    return run_from_all(call, *s, d, in_place ? nullptr : &own, list, receive, in_line, start);
}

template <class C, class D>
const Decision* gatherv(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root, in_place = send == MPI_IN_PLACE;
    LastCall& last = s->last(Operation::gatherv);
    if (last.root == root && same_own(last, send, send_count, send_type) && !call.starts() &&
        (!is_root || same_at_root(last, send, receive, receive_counts, displacements, receive_type, s->size))) [[likely]] {
        const Decision& d = *last.decision;
        if (!call.serves(d)) return nullptr;
        call.run(*s, d, send, is_root ? static_cast<std::byte*>(receive) + last.output : nullptr, nullptr);
        return &d;
    }

    if (root < 0 || root >= s->size || (in_place && !is_root)) return call.pass(Reason::arguments);
    const Decision& chosen = s->decide(Operation::gatherv, root);
    if (!chosen.algorithm) return call.pass(chosen.reason);
    Elements own;
    BlockList& list = per_thread<BlockList, struct OfGatherv>();
    if (!in_place && !acceptable(send, send_count, send_type, own)) return call.pass(Reason::arguments);
    if (is_root && !acceptable(receive, receive_counts, displacements, receive_type, s->size, list)) return call.pass(Reason::arguments);
    if (is_root && !in_place && wrongly_in_place(own, list.of(static_cast<std::size_t>(root), receive))) return call.pass(Reason::arguments);
    if (!call.serves(chosen)) return nullptr;
    if (is_root && !in_place && !call.own_block_fits(*s, Operation::gatherv, own.bytes(), own_bytes(list, root))) return nullptr;

    const Trim trim{s->workspace};
    Problem& p = s->problem(Operation::gatherv, root);
    if (is_root) set_blocks(p, list);
    else set_own_block(p, own.bytes());
    const Decision& d = call.planned(*s, chosen, p);
    const bool may_be_same = may_remember(call, d, own, in_place);
    if (!is_root) {
        if (may_be_same) remember_own(last, d, own, send_type, root);
        call.run(*s, d, packed_input(own, call.workspace(*s)), nullptr, nullptr);
        return &d;
    }
    std::ptrdiff_t start = 0;
    const bool in_line = list.in_line(start);
    if (may_be_same && in_line && list.datatype->named()) {
        remember_own(last, d, own, send_type, root);
        remember_all(last, receive_counts, displacements, s->size, list, receive_type);
        last.output = start;
    }
    return run_from_all(call, *s, d, in_place ? nullptr : &own, list, receive, in_line, start);
}

template <class C, class D>
const Decision* scatterv(Call& call, const void* send, const C* send_counts, const D* displacements, MPI_Datatype send_type,
                         void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root, in_place = receive == MPI_IN_PLACE;
    LastCall& last = s->last(Operation::scatterv);
    if (last.root == root && same_own(last, receive, receive_count, receive_type) && !call.starts() &&
        (!is_root || same_at_root(last, receive, send, send_counts, displacements, send_type, s->size))) [[likely]] {
        const Decision& d = *last.decision;
        if (!call.serves(d)) return nullptr;
        call.run(*s, d, is_root ? static_cast<const std::byte*>(send) + last.input : nullptr, receive, nullptr);
        return &d;
    }

    if (root < 0 || root >= s->size || (in_place && !is_root)) return call.pass(Reason::arguments);
    const Decision& chosen = s->decide(Operation::scatterv, root);
    if (!chosen.algorithm) return call.pass(chosen.reason);
    Elements own;
    BlockList& list = per_thread<BlockList, struct OfScatterv>();
    if (!in_place && !acceptable(receive, receive_count, receive_type, own)) return call.pass(Reason::arguments);
    if (is_root && !acceptable(send, send_counts, displacements, send_type, s->size, list)) return call.pass(Reason::arguments);
    if (is_root && !in_place && wrongly_in_place(own, list.of(static_cast<std::size_t>(root), send))) return call.pass(Reason::arguments);
    if (!call.serves(chosen)) return nullptr;
    if (is_root && !in_place && !call.own_block_fits(*s, Operation::scatterv, own_bytes(list, root), own.bytes())) return nullptr;

    const Trim trim{s->workspace};
    Problem& p = s->problem(Operation::scatterv, root);
    if (is_root) set_blocks(p, list);
    else set_own_block(p, own.bytes());
    const Decision& d = call.planned(*s, chosen, p);
    const std::byte* input = nullptr;
    const bool may_be_same = may_remember(call, d, own, in_place);
    if (may_be_same && !is_root) remember_own(last, d, own, receive_type, root);
    if (is_root) {
        std::ptrdiff_t start = 0;
        if (list.in_line(start)) {
            input = static_cast<const std::byte*>(send) + start;
            if (may_be_same && list.datatype->named()) {
                remember_own(last, d, own, receive_type, root);
                remember_all(last, send_counts, displacements, s->size, list, send_type);
                last.input = start;
            }
        } else {
            std::byte* const packed = call.workspace(*s).get(Workspace::input, list.total);
            copy_all(list, send, packed);
            input = packed;
        }
    }
    if (in_place) {
        // Input and output are the same block: the executor leaves a copy to itself out.
        call.run(*s, d, input, const_cast<std::byte*>(input) + offset_of(list, root), nullptr);
        return &d;
    }
    const PackedOutput output(own, call, *s);
    call.run(*s, d, input, output.bytes(), nullptr, [=] { output.finish(); });
    return &d;
}

#define FANLIGHT_VARIABLE(C, D)                                                                                       \
    template const Decision* allgatherv(Call&, const void*, MPI_Count, MPI_Datatype, void*, const C*, const D*,       \
                                        MPI_Datatype);                                                                \
    template const Decision* gatherv(Call&, const void*, MPI_Count, MPI_Datatype, void*, const C*, const D*,          \
                                     MPI_Datatype, int);                                                              \
    template const Decision* scatterv(Call&, const void*, const C*, const D*, MPI_Datatype, void*, MPI_Count,         \
                                      MPI_Datatype, int);
FANLIGHT_VARIABLE(int, int)
FANLIGHT_VARIABLE(MPI_Count, MPI_Aint)

}  // namespace fanlight
