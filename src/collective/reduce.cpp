// reduce, allreduce, scan, exscan, reduce_scatter_block, reduce_scatter.
#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/buffers.h"
#include "collective/guard.h"
#include "collective/library.h"
#include "collective/operations.h"
#include "collective/reduction.h"
#include "config/config.h"

namespace fanlight {

namespace {

// The buffers of a reduction in the order in which the executor combines them: as they lie in
// memory, unless the datatype is one of the program's with gaps.
struct ReductionBuffers {
    const Datatype& datatype;
    bool in_memory_order;
    Workspace& workspace;

    Elements elements(const void* memory, MPI_Count count) const { return {memory, count, &datatype, device_memory::holds(memory)}; }
    std::size_t bytes(MPI_Count count) const {
        return static_cast<std::size_t>(count) * (in_memory_order ? static_cast<std::size_t>(datatype.extent) : datatype.size);
    }
    const void* input(const void* memory, MPI_Count count) const {
        if (!in_memory_order) return packed_input(elements(memory, count), workspace);
        return device_memory::holds(memory) ? input_copy(memory, count) : memory;
    }
    // Of a buffer that is also the output.
    const void* input_copy(const void* memory, MPI_Count count) const {
        if (!in_memory_order) return packed_copy(elements(memory, count), workspace);
        std::byte* copy = workspace.get(Workspace::input, bytes(count));
        device_memory::copy(copy, memory, bytes(count));
        return copy;
    }
    void* output(void* memory, MPI_Count count) const {
        return in_memory_order && !device_memory::holds(memory) ? memory : workspace.get(Workspace::output, bytes(count));
    }
    void finish(const void* output, void* memory, MPI_Count count) const {
        if (output == memory) return;
        if (!in_memory_order) elements(memory, count).unpack(static_cast<const std::byte*>(output));
        else device_memory::copy(memory, output, bytes(count));
    }
};

// Input and output are the same memory without MPI_IN_PLACE.  MPI forbids it; MPICH's family
// says so, and Open MPI does in reduce and allreduce and takes it as MPI_IN_PLACE elsewhere.
enum class Aliased { no, in_place, wrong };
Aliased aliased(Operation operation, const void* send, const void* receive) {
    if (send != receive || send == nullptr) return Aliased::no;
#if defined(OPEN_MPI)
    if (operation != Operation::reduce && operation != Operation::allreduce) return Aliased::in_place;
#else
    (void)operation;
#endif
    return Aliased::wrong;
}

bool address_missing(const void* memory, const Reduction& r) {
    return !memory && r.in_memory_order;
}

// Whether the MPI library would take these buffers.  `sends`, `receives`: something is to be read, to be written.
bool acceptable(Operation operation, const void* send, const void* receive, const Reduction& r, bool sends, bool receives, bool& in_place) {
    // Of exscan on all ranks, as MPICH's family: rank 0 has no result, but decides as the others do.
    const Aliased alias = receives || (operation == Operation::exscan && sends) ? aliased(operation, send, receive) : Aliased::no;
    if (alias == Aliased::wrong) return false;
    if (receives || (in_place && sends)) {
        if (receive == MPI_IN_PLACE || address_missing(receive, r)) return false;
        in_place |= alias == Aliased::in_place;
    }
    return in_place || !sends || !address_missing(send, r);
}

bool has_same_bits(const Reduction& r, int ranks) { return r.exact || (r.exact_of_two && ranks == 2); }

// The MPI library's own, on zeros in other memory, for the guard: the program's results have Fanlight's bits.
template <class C>
void time_beside(Call& call, CommunicatorContext& s, const Decision& d, MPI_Count count, MPI_Datatype type, MPI_Op op, int root, const C* counts) {
    constexpr std::size_t longest = std::size_t{4} << 20;
    const Operation operation = d.problem.operation;
    const std::size_t ranks = static_cast<std::size_t>(s.size), output = static_cast<std::size_t>(count) * d.problem.element;
    const std::size_t input = counts                                           ? d.bytes * ranks + d.problem.element * ranks
                              : operation == Operation::reduce_scatter_block ? output * ranks
                                                                             : output;
    if (input > longest) return;
    guard::Calls* const calls = call.theirs_beside(d);
    if (!calls) return;
    std::byte* const send = s.workspace.get(Workspace::input, input);
    std::byte* const receive = s.workspace.get(Workspace::output, output);
    std::memset(send, 0, input);
    const int n = static_cast<int>(count);
    std::vector<int> each;
    if (counts) each.assign(counts, counts + s.size);
    calls->beside_begins();
    switch (operation) {
        case Operation::reduce: mpi().Reduce(send, receive, n, type, op, root, s.comm()); break;
        case Operation::allreduce: mpi().Allreduce(send, receive, n, type, op, s.comm()); break;
        case Operation::scan: mpi().Scan(send, receive, n, type, op, s.comm()); break;
        case Operation::exscan: mpi().Exscan(send, receive, n, type, op, s.comm()); break;
        case Operation::reduce_scatter_block: mpi().Reduce_scatter_block(send, receive, n, type, op, s.comm()); break;
        default: mpi().Reduce_scatter(send, receive, each.data(), type, op, s.comm());
    }
    calls->beside_ends();
}

// Call::serves.  `named`: operator and datatype are MPI's own.
template <class C = int>
bool serves(Call& call, CommunicatorContext& s, const Decision& d, bool same_bits, bool named, MPI_Count count, MPI_Datatype type, MPI_Op op,
            int root, const C* counts = nullptr) {
    if (!d.guarded || same_bits) [[likely]] return call.serves(d);
    if (named) time_beside(call, s, d, count, type, op, root, counts);
    return true;
}

// False where it cannot.
bool remember(LastCall& last, const Decision& d, MPI_Count count, MPI_Datatype handle, MPI_Op op, int root, const Reduction& r, bool same_bits) {
    if (!r.named || !r.datatype->named() || device_memory::is_staged()) return false;
    // Without a function of our own the combiner needs the Reduction, which ends with the call.
    if (d.algorithm && !r.apply) return false;
    last = {.decision = &d, .count = count, .datatype = handle, .op = op, .root = root, .combiner = {r.apply, nullptr},
            .same_bits = same_bits};
    return true;
}

// Whether its rounding is to be the MPI library's.
bool rounds_elsewhere(const Reduction& r) { return !r.exact && config().rounding == "mpi"; }

// Started, with an operator that others than the program's own threads must not call, nor
// MPI_Reduce_local: a rank that is inside of MPI_Recv could not go on for its peers.  So the operands
// alone are exchanged, which needs no operator, and each rank combines them when all are there.
const Decision* combined_at_the_end(Call& call, CommunicatorContext& s, Operation operation, const void* input, void* receive,
                                    MPI_Count count, int root, const Reduction& r) {
    // Each rank combines all, so that a long vector is better in parts.  The function may look at
    // its datatype, of which the program may free its own.
    constexpr std::size_t longest = std::size_t{64} << 10;
    const std::size_t bytes = static_cast<std::size_t>(count) * r.element;
    if (!r.datatype->named() || bytes > longest) return call.pass(Reason::own_thread);
    const Operation exchange = operation == Operation::reduce                 ? Operation::gather
                               : operation == Operation::reduce_scatter_block ? Operation::alltoall
                                                                              : Operation::allgather;
    const Decision& d = s.decide({.operation = exchange, .root = root, .bytes = bytes});
    if (!call.serves(d)) return nullptr;
    const bool receives = operation != Operation::reduce || s.rank == root;
    const int operands = !receives                          ? 0
                         : operation == Operation::scan   ? s.rank + 1
                         : operation == Operation::exscan ? s.rank
                                                          : s.size;
    std::byte* const all = receives ? call.workspace(s).get(Workspace::output, bytes * static_cast<std::size_t>(s.size)) : nullptr;
    if (!r.named) call.uses(r.local.op);
    const ReductionBuffers buffers{*r.datatype, true, call.workspace(s)};
    const MPI_Count input_count = operation == Operation::reduce_scatter_block ? count * s.size : count;
    call.run(s, d, buffers.input(input, input_count), all, nullptr, [=] {
        if (operands == 0) return;
        const Combiner combiner = r.combiner();
        std::byte* sum = all;
        for (int i = 1; i < operands; ++i, sum += bytes) combiner(sum, sum + bytes, sum + bytes, bytes);
        device_memory::copy(receive, sum, bytes);
    });
    return &d;
}

// reduce (with a root), and the operations without one (root 0).
const Decision* reduction(Call& call, Operation operation, const void* send, void* receive, MPI_Count count,
                          MPI_Datatype handle, MPI_Op op, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool rooted = operation == Operation::reduce;
    const bool receives = !rooted || s->rank == root;
    // exscan leaves rank 0's result as it is.
    const bool result_is_significant = receives && !(operation == Operation::exscan && s->rank == 0);

    LastCall& last = s->last(operation);
    if (last.count == count && last.datatype == handle && last.op == op && last.root == root && ordinary(send) &&
        (!receives || (ordinary(receive) && send != receive))) [[likely]] {
        const Decision& d = *last.decision;
        if (!serves(call, *s, d, last.same_bits, true, count, handle, op, root)) return nullptr;
        call.run(*s, d, send, receives ? receive : nullptr, &last.combiner);
        return &d;
    }

    if (count < 0 || (rooted && (root < 0 || root >= s->size))) return call.pass(Reason::arguments);
    Reduction r;
    if (!find_reduction(op, handle, r)) return call.pass(Reason::operation);
    if (rounds_elsewhere(r)) return call.pass(Reason::rounding);
    bool in_place = send == MPI_IN_PLACE;
    if (in_place && !receives) return call.pass(Reason::arguments);
    if (!acceptable(operation, send, receive, r, count > 0, count > 0 && result_is_significant, in_place)) return call.pass(Reason::arguments);

    if (call.starts() && !r.apply) return combined_at_the_end(call, *s, operation, in_place ? receive : send, receive, count, root, r);
    const ReductionBuffers buffers{*r.datatype, r.in_memory_order, call.workspace(*s)};
    const std::size_t bytes = buffers.bytes(count);
    const MPI_Count input_count = operation == Operation::reduce_scatter_block ? count * s->size : count;
    if (!can_pack(buffers.bytes(input_count))) return call.pass(Reason::too_large);
    const Decision& d = s->decide({.operation = operation, .root = rooted ? root : 0, .bytes = bytes,
                                   .element = r.element, .commutative = r.commutative});
    const bool same_bits = has_same_bits(r, s->size);
    remember(last, d, count, handle, op, root, r, same_bits);
    if (!serves(call, *s, d, same_bits, r.named && r.datatype->named(), count, handle, op, root)) return nullptr;

    const Trim trim{s->workspace};
    const Combiner combiner = r.combiner();
    const void* input = in_place ? buffers.input_copy(receive, input_count) : buffers.input(send, input_count);
    void* output = receives ? buffers.output(receive, count) : nullptr;
    // Started: as it lies in memory, since the operator is MPI's own.
    call.run(*s, d, input, output, &combiner, [=] {
        if (result_is_significant) buffers.finish(output, receive, count);
    });
    return &d;
}

}  // namespace

const Decision* reduce(Call& call, const void* send, void* receive, MPI_Count count, MPI_Datatype handle, MPI_Op op, int root) {
    return reduction(call, Operation::reduce, send, receive, count, handle, op, root);
}
const Decision* allreduce(Call& call, const void* send, void* receive, MPI_Count count, MPI_Datatype handle, MPI_Op op) {
    return reduction(call, Operation::allreduce, send, receive, count, handle, op, 0);
}
const Decision* scan(Call& call, const void* send, void* receive, MPI_Count count, MPI_Datatype handle, MPI_Op op) {
    return reduction(call, Operation::scan, send, receive, count, handle, op, 0);
}
const Decision* exscan(Call& call, const void* send, void* receive, MPI_Count count, MPI_Datatype handle, MPI_Op op) {
    return reduction(call, Operation::exscan, send, receive, count, handle, op, 0);
}
const Decision* reduce_scatter_block(Call& call, const void* send, void* receive, MPI_Count count, MPI_Datatype handle, MPI_Op op) {
    return reduction(call, Operation::reduce_scatter_block, send, receive, count, handle, op, 0);
}

template <class C>
const Decision* reduce_scatter(Call& call, const void* send, void* receive, const C* counts, MPI_Datatype handle, MPI_Op op) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    if (!counts) return call.pass(Reason::arguments);
    const auto size = static_cast<std::size_t>(s->size);
    LastCall& last = s->last(Operation::reduce_scatter);
    if (last.datatype == handle && last.op == op && ordinary(send) && ordinary(receive) && send != receive &&
        last.counts.size() == size && std::equal(counts, counts + size, last.counts.begin())) [[likely]] {
        const Decision& d = *last.decision;
        if (!serves(call, *s, d, last.same_bits, true, last.count, handle, op, 0, counts)) return nullptr;
        call.run(*s, d, send, receive, &last.combiner);
        return &d;
    }

    Reduction r;
    if (std::any_of(counts, counts + size, [](C count) { return count < 0; })) return call.pass(Reason::arguments);
    if (!find_reduction(op, handle, r)) return call.pass(Reason::operation);
    if (rounds_elsewhere(r)) return call.pass(Reason::rounding);
    const ReductionBuffers buffers{*r.datatype, r.in_memory_order, call.workspace(*s)};
    Problem& p = s->problem(Operation::reduce_scatter);
    std::size_t place = 0;
    MPI_Count total = 0;
    for (std::size_t i = 0; i < size; ++i) {
        p.blocks.push_back({place, buffers.bytes(counts[i])});
        place += p.blocks.back().bytes;
        total += counts[i];
    }
    const MPI_Count count = counts[s->rank];
    bool in_place = send == MPI_IN_PLACE;
    if (!acceptable(Operation::reduce_scatter, send, receive, r, total > 0, count > 0, in_place)) return call.pass(Reason::arguments);
    if (call.starts() && !r.apply) return call.pass(Reason::own_thread);
    if (!can_pack(buffers.bytes(total))) return call.pass(Reason::too_large);
    p.element = r.element;
    p.commutative = r.commutative;
    const Decision& d = s->decide(p);
    const bool same_bits = has_same_bits(r, s->size);
    if (remember(last, d, count, handle, op, 0, r, same_bits)) last.counts.assign(counts, counts + size);
    if (!serves(call, *s, d, same_bits, r.named && r.datatype->named(), count, handle, op, 0, counts)) return nullptr;

    const Trim trim{s->workspace};
    const Combiner combiner = r.combiner();
    const void* input = in_place ? buffers.input_copy(receive, total) : buffers.input(send, total);
    void* output = buffers.output(receive, count);
    call.run(*s, d, input, output, &combiner, [=] { buffers.finish(output, receive, count); });
    return &d;
}
template const Decision* reduce_scatter(Call&, const void*, void*, const int*, MPI_Datatype, MPI_Op);
template const Decision* reduce_scatter(Call&, const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op);

}  // namespace fanlight
