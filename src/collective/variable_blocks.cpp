// allgatherv, gatherv, scatterv: each rank's block has its own length and place.
#include <vector>

#include "collective/block_lists.h"
#include "collective/operations.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

// All ranks' blocks as one rank's arguments have them, and packed: one behind the other, whatever their places in the program's
// memory.  A get names its offset at the peer: ranks whose displacements differ must agree on one.
struct AllBlocks {
    OneForAll type;
    Blocks blocks;
    std::vector<Block> packed;
    std::size_t total = 0;
    bool in_line = false;        // as they lie in the program's memory, too: then from
    std::byte* first = nullptr;  // on

    std::size_t bytes(int rank) const { return packed[static_cast<std::size_t>(rank)].bytes; }
    const Elements& of(int rank) const { return blocks[static_cast<std::size_t>(rank)]; }
    std::size_t offset(int rank) const { return packed[static_cast<std::size_t>(rank)].offset; }
    bool is_plain() const { return fanlight::is_plain({nullptr, 0, type.found}); }
};

// As a call has them.
template <class C, class D>
struct Arguments {
    const void* memory;
    const C* counts;
    const D* displacements;
    MPI_Datatype type;
};

template <class C, class D>
bool acceptable(const Arguments<C, D>& each, int size, AllBlocks& all) {
    all.type = {each.type};
    if (!acceptable(each.memory, each.counts, each.displacements, all.type, size, all.blocks, is_nobody)) return false;
    all.total = put_in_line(all.blocks, all.packed);
    all.first = static_cast<std::byte*>(const_cast<void*>(each.memory));
    all.in_line = are_in_line(all.blocks, all.first);
    return true;
}

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
void remember_all(LastCall& last, const Arguments<C, D>& each, int size, const AllBlocks& all) {
    last.other_datatype = each.type;
    last.other_size = all.type.found->size;
    last.input = last.output = all.first - static_cast<const std::byte*>(each.memory);
    last.counts.clear();
    last.places.clear();
    last.add_arrays(each.counts, each.displacements, size);
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

// Of gatherv and scatterv: a rank's block by itself, and the root's of all.  Null: the MPI library serves the call.
template <class C, class D>
const Decision* rooted(Call& call, CommunicatorContext& s, Operation operation, int root, const Argument& one, const Arguments<C, D>& each, Elements& own,
                       AllBlocks& all) {
    const bool is_root = s.rank == root, in_place = one.memory == MPI_IN_PLACE;
    if (root < 0 || root >= s.size || (in_place && !is_root)) return call.pass(Reason::arguments);
    if (const Decision* left = s.left_at_any_length(operation, root)) return call.pass(left->reason);
    if (!in_place && !acceptable(one.memory, one.count, one.type, own)) return call.pass(Reason::arguments);
    if (is_root && !acceptable(each, s.size, all)) return call.pass(Reason::arguments);
    if (is_root && !in_place && wrongly_in_place(own, all.of(root))) return call.pass(Reason::arguments);
    const std::size_t bytes = in_place ? all.bytes(root) : own.bytes(), bytes_at_root = is_root ? all.bytes(root) : bytes;
    Problem& p = s.problem(operation, root);
    if (is_root) {
        p.blocks = all.packed;
    } else {
        p.blocks.resize(static_cast<std::size_t>(p.size));
        p.blocks[static_cast<std::size_t>(p.rank)] = {0, bytes};
    }
    const auto remember = [&](const Decision& d) {
        if (in_place || !is_plain(own) || call.is_persistent() || (is_root && !((all.in_line || !d.algorithm) && all.is_plain()))) return;
        LastCall& last = s.last(operation);
        remember_own(last, d, own, one.type, root);
        if (is_root) remember_all(last, each, s.size, all);
    };
    const Decision& chosen = s.decide(p);
    if (!chosen.algorithm) remember(chosen);
    if (!call.serves(chosen)) return nullptr;
    const bool gathers = operation == Operation::gatherv;
    if (!call.own_block_fits(s, operation, gathers ? bytes : bytes_at_root, gathers ? bytes_at_root : bytes)) return nullptr;
    const Decision& d = call.planned(s, chosen, p);
    // Plans are for lengths that are known; one whose lengths travel first is told them at each call.
    if (!d.plan.lengths) remember(d);
    return &d;
}

// Of a rank that receives all ranks' blocks.  `own`: its own, null where that is at its place.
const Decision* run_from_all(Call& call, CommunicatorContext& s, const Decision& d, const Elements* own, AllBlocks& all) {
    std::byte* const output = all.in_line ? all.first : call.workspace(s).get(Workspace::output, all.total);
    std::byte* const own_block = output + all.offset(s.rank);
    const std::byte* input = own_block;
    if (own) input = packed_input(*own, call.workspace(s));
    else if (!all.in_line && all.bytes(s.rank)) all.of(s.rank).pack(own_block);
    run_into(call, s, d, input, output, all.in_line, all.blocks, all.packed);
    return &d;
}

}  // namespace

template <class C, class D>
const Decision* allgatherv(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                           void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::allgatherv);
    if (same_own(last, send, send_count, send_type) && same_all(last, receive, receive_counts, displacements, receive_type, s->size)) [[likely]]
        return call.serve(*s, *last.decision, send, static_cast<std::byte*>(receive) + last.output);

    if (last.other_size && !call.is_persistent() && last.datatype == send_type && last.other_datatype == receive_type && ordinary(send) && ordinary(receive)) {
        const auto element = static_cast<std::ptrdiff_t>(last.other_size);
        if (const Decision* d = other_counts(*s, last, send_count, receive_counts, displacements))
            return call.serve(*s, *d, send, static_cast<std::byte*>(receive) + displacements[0] * element);
    }
    Elements own;
    const bool in_place = send == MPI_IN_PLACE;
    AllBlocks& all = per_thread<AllBlocks>();
    const Arguments<C, D> each{receive, receive_counts, displacements, receive_type};
    if (!acceptable(each, s->size, all)) return call.pass(Reason::arguments);
    if (!in_place && (!acceptable(send, send_count, send_type, own) || wrongly_in_place(own, all.of(s->rank)))) return call.pass(Reason::arguments);
    const std::size_t received = all.bytes(s->rank), sent = in_place ? received : own.bytes();
    if (!can_pack(all.total)) return call.pass(Reason::too_large);
    Problem& p = s->problem(Operation::allgatherv);
    p.blocks = all.packed;
    const Decision& d = s->decide(p);
    if (!in_place && sent == received && is_plain(own) && all.is_plain() && (all.in_line || !d.algorithm)) {
        remember_own(last, d, own, send_type, -1);
        remember_all(last, each, s->size, all);
    }
    if (!call.serves(d) || !call.own_block_fits(*s, Operation::allgatherv, sent, received)) return nullptr;

    const Trim trim{s->workspace};
    return run_from_all(call, *s, d, in_place ? nullptr : &own, all);
}

template <class C, class D>
const Decision* gatherv(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, const C* receive_counts, const D* displacements, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root, in_place = send == MPI_IN_PLACE;
    LastCall& last = s->last(Operation::gatherv);
    if (last.root == root && same_own(last, send, send_count, send_type) && !call.is_persistent() &&
        (!is_root || same_at_root(last, send, receive, receive_counts, displacements, receive_type, s->size))) [[likely]]
        return call.serve(*s, *last.decision, send, is_root ? static_cast<std::byte*>(receive) + last.output : nullptr);

    Elements own;
    AllBlocks& all = per_thread<AllBlocks>();
    const Arguments<C, D> each{receive, receive_counts, displacements, receive_type};
    const Decision* const decision = rooted(call, *s, Operation::gatherv, root, {send, send_count, send_type}, each, own, all);
    if (!decision) return nullptr;
    const Decision& d = *decision;

    const Trim trim{s->workspace};
    if (is_root) return run_from_all(call, *s, d, in_place ? nullptr : &own, all);
    call.run(*s, d, packed_input(own, call.workspace(*s)), nullptr, nullptr);
    return &d;
}

template <class C, class D>
const Decision* scatterv(Call& call, const void* send, const C* send_counts, const D* displacements, MPI_Datatype send_type,
                         void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root, in_place = receive == MPI_IN_PLACE;
    LastCall& last = s->last(Operation::scatterv);
    if (last.root == root && same_own(last, receive, receive_count, receive_type) && !call.is_persistent() &&
        (!is_root || same_at_root(last, receive, send, send_counts, displacements, send_type, s->size))) [[likely]]
        return call.serve(*s, *last.decision, is_root ? static_cast<const std::byte*>(send) + last.input : nullptr, receive);

    Elements own;
    AllBlocks& all = per_thread<AllBlocks>();
    const Arguments<C, D> each{send, send_counts, displacements, send_type};
    const Decision* const decision = rooted(call, *s, Operation::scatterv, root, {receive, receive_count, receive_type}, each, own, all);
    if (!decision) return nullptr;
    const Decision& d = *decision;

    const Trim trim{s->workspace};
    std::byte* input = nullptr;
    if (is_root) {
        input = all.in_line ? all.first : call.workspace(*s).get(Workspace::input, all.total);
        if (!all.in_line) pack_all(all.blocks, all.packed, input);
    }
    if (in_place) {
        // Input and output are the same block: the executor leaves a copy to itself out.
        call.run(*s, d, input, input + all.offset(root), nullptr);
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
