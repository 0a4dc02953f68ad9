// allgather, gather, scatter, alltoall: one block of equal length for each rank.
#include "collective/buffers.h"
#include "collective/operations.h"

namespace fanlight {

namespace {

// The fast path: the same named datatypes and counts as at the last call.
bool same_call(const LastCall& last, MPI_Count count, MPI_Datatype handle, MPI_Count other_count,
               MPI_Datatype other_handle, int root) {
    return last.count == count && last.datatype == handle && last.other_count == other_count &&
           last.other_datatype == other_handle && last.root == root;
}

void remember(LastCall& last, const Decision& d, const Elements& e, MPI_Datatype handle, const Elements& other,
              MPI_Datatype other_handle, int root) {
    if (is_plain(e) && is_plain(other))
        last = {.decision = &d, .count = e.count, .other_count = other.count, .datatype = handle,
                .other_datatype = other_handle, .root = root};
}

// Of rooted operations the ranks that are not the root have one side alone.
void remember(LastCall& last, const Decision& d, const Elements& e, MPI_Datatype handle, int root) {
    if (is_plain(e))
        last = {.decision = &d, .count = e.count, .datatype = handle, .root = root};
}

// Of gather and scatter: a rank's block by itself, and the root's of all.  Null: the MPI library serves the call.
const Decision* rooted(Call& call, CommunicatorContext& s, LastCall& last, Operation operation, int root, const Argument& one, const Argument& each,
                       Elements& own, Elements& all) {
    const bool is_root = s.rank == root, in_place = one.memory == MPI_IN_PLACE;
    if (root < 0 || root >= s.size || (in_place && !is_root)) return call.pass(Reason::arguments);
    if (!in_place && !acceptable(one.memory, one.count, one.type, own)) return call.pass(Reason::arguments);
    const std::size_t own_bytes = in_place ? 0 : own.bytes();
    std::size_t bytes = own_bytes;
    bool differs = false;
    if (is_root) {
        if (!acceptable(each.memory, each.count, each.type, all)) return call.pass(Reason::arguments);
        if (!in_place && wrongly_in_place(own, all.part(root * each.count, each.count))) return call.pass(Reason::arguments);
        bytes = all.bytes();
        differs = !in_place && own_bytes != bytes;
        all.count *= s.size;
    }
    if (!can_pack(bytes * static_cast<std::size_t>(s.size))) return call.pass(Reason::too_large);
    const Decision& d = s.decide({.operation = operation, .root = root, .bytes = bytes});
    if (!in_place && !differs) {
        if (is_root) remember(last, d, own, one.type, {each.memory, each.count, all.datatype}, each.type, root);
        else remember(last, d, own, one.type, root);
    }
    if (!call.serves(d)) return nullptr;
    const bool gathers = operation == Operation::gather;
    if (differs && !call.own_block_fits(s, operation, gathers ? own_bytes : bytes, gathers ? bytes : own_bytes)) return nullptr;
    return &d;
}

// Of a rank that receives all ranks' blocks.  `own`: its own, null where that is at its place.
const Decision* run_from_all(Call& call, CommunicatorContext& s, const Decision& d, const Elements* own, const Elements& all) {
    const PackedOutput output(all, call, s);
    std::byte* const own_block = output.bytes() + static_cast<std::size_t>(s.rank) * d.bytes;
    const std::byte* input = own_block;
    const MPI_Count each = all.count / s.size;
    if (own) input = packed_input(*own, call.workspace(s));
    else if (output.is_copy()) all.part(s.rank * each, each).pack(own_block);
    call.run(s, d, input, output.bytes(), nullptr, [=] { output.finish(); });
    return &d;
}

}  // namespace

const Decision* allgather(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                          void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::allgather);
    if (same_call(last, send_count, send_type, receive_count, receive_type, -1) && ordinary(send) &&
        ordinary(receive) && !wrongly_in_place(send, place_of_block(receive, s->rank, last.decision->bytes))) [[likely]]
        return call.serve(*s, *last.decision, send, receive);

    Elements own, all;
    const bool in_place = send == MPI_IN_PLACE;
    if (!acceptable(receive, receive_count, receive_type, all)) return call.pass(Reason::arguments);
    const std::size_t bytes = all.bytes();
    all.count *= s->size;
    if (!in_place && (!acceptable(send, send_count, send_type, own) ||
                      wrongly_in_place(own, all.part(s->rank * receive_count, receive_count))))
        return call.pass(Reason::arguments);
    const std::size_t sent = in_place ? bytes : own.bytes();
    if (!can_pack(all.bytes())) return call.pass(Reason::too_large);
    const Decision& d = s->decide({.operation = Operation::allgather, .bytes = bytes});
    if (!in_place && sent == bytes)
        remember(last, d, own, send_type, {receive, receive_count, all.datatype}, receive_type, -1);
    if (!call.serves(d) || !call.own_block_fits(*s, Operation::allgather, sent, bytes)) return nullptr;

    const Trim trim{s->workspace};
    return run_from_all(call, *s, d, in_place ? nullptr : &own, all);
}

const Decision* gather(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                       void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root;
    LastCall& last = s->last(Operation::gather);
    if (is_root ? same_call(last, send_count, send_type, receive_count, receive_type, root) && ordinary(send) &&
                      ordinary(receive) && !wrongly_in_place(send, place_of_block(receive, root, last.decision->bytes))
                : last.count == send_count && last.datatype == send_type && last.root == root && ordinary(send)) [[likely]]
        return call.serve(*s, *last.decision, send, is_root ? receive : nullptr);

    Elements own, all;
    const Decision* const decision = rooted(call, *s, last, Operation::gather, root, {send, send_count, send_type}, {receive, receive_count, receive_type}, own, all);
    if (!decision) return nullptr;
    const Decision& d = *decision;

    const Trim trim{s->workspace};
    if (!is_root) {
        call.run(*s, d, packed_input(own, call.workspace(*s)), nullptr, nullptr);
        return &d;
    }
    return run_from_all(call, *s, d, send == MPI_IN_PLACE ? nullptr : &own, all);
}

const Decision* scatter(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                        void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const bool is_root = s->rank == root;
    LastCall& last = s->last(Operation::scatter);
    if (is_root ? same_call(last, receive_count, receive_type, send_count, send_type, root) && ordinary(send) &&
                      ordinary(receive) && !wrongly_in_place(receive, place_of_block(send, root, last.decision->bytes))
                : last.count == receive_count && last.datatype == receive_type && last.root == root && ordinary(receive)) [[likely]]
        return call.serve(*s, *last.decision, is_root ? send : nullptr, receive);

    Elements own, all;
    const Decision* const decision = rooted(call, *s, last, Operation::scatter, root, {receive, receive_count, receive_type}, {send, send_count, send_type}, own, all);
    if (!decision) return nullptr;
    const Decision& d = *decision;

    const Trim trim{s->workspace};
    const std::byte* input = is_root ? packed_input(all, call.workspace(*s)) : nullptr;
    if (receive == MPI_IN_PLACE) {
        // Input and output are the same block: the executor leaves a copy to itself out.
        call.run(*s, d, input, const_cast<std::byte*>(input) + static_cast<std::size_t>(root) * d.bytes, nullptr);
        return &d;
    }
    const PackedOutput output(own, call, *s);
    call.run(*s, d, input, output.bytes(), nullptr, [=] { output.finish(); });
    return &d;
}

const Decision* alltoall(Call& call, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                         void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::alltoall);
    if (same_call(last, send_count, send_type, receive_count, receive_type, -1) && ordinary(send) &&
        ordinary(receive) && send != receive) [[likely]]
        return call.serve(*s, *last.decision, send, receive);

    Elements from, to;
    const bool in_place = send == MPI_IN_PLACE;
    if (!acceptable(receive, receive_count, receive_type, to)) return call.pass(Reason::arguments);
    const std::size_t bytes = to.bytes();
    if (!in_place && (!acceptable(send, send_count, send_type, from) || same_memory(from, to))) return call.pass(Reason::arguments);
    const std::size_t sent = in_place ? bytes : from.bytes();
    to.count *= s->size;
    from.count *= s->size;
    if (!can_pack(to.bytes())) return call.pass(Reason::too_large);
    const Decision& d = s->decide({.operation = Operation::alltoall, .bytes = bytes});
    if (!in_place && sent == bytes)
        remember(last, d, {send, send_count, from.datatype}, send_type, {receive, receive_count, to.datatype}, receive_type, -1);
    if (!call.serves(d) || !call.own_block_fits(*s, Operation::alltoall, sent, bytes)) return nullptr;

    const Trim trim{s->workspace};
    const std::byte* input = in_place ? packed_copy(to, call.workspace(*s)) : packed_input(from, call.workspace(*s));
    const PackedOutput output(to, call, *s);
    call.run(*s, d, input, output.bytes(), nullptr, [=] { output.finish(); });
    return &d;
}

}  // namespace fanlight
