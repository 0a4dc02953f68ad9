// alltoallv, alltoallw: blocks of their own lengths to each rank and from each; alltoallw's have
// datatypes of their own as well.
#include <type_traits>

#include "collective/block_lists.h"
#include "collective/operations.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

struct Exchange {
    Blocks from, to;
};

// The fast path: the same counts, places and named datatypes as at the last call.
template <class C, class D>
bool same_call(const LastCall& last, const CommunicatorContext& s, const void* send, const C* send_counts, const D* send_displacements,
               MPI_Datatype send_type, const void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type) {
    if (last.count < 0 || last.datatype != send_type || last.other_datatype != receive_type || !ordinary(send) || !ordinary(receive)) return false;
    if (!last.has_arrays(send_counts, send_displacements, s.size, 2, 0) || !last.has_arrays(receive_counts, receive_displacements, s.size, 2, 1)) return false;
    const auto own = static_cast<std::size_t>(s.rank), n = static_cast<std::size_t>(s.size);
    const auto place = [](const void* memory, std::ptrdiff_t at, std::size_t size) { return static_cast<const std::byte*>(memory) + at * static_cast<std::ptrdiff_t>(size); };
    return last.counts[own] == 0 || place(send, last.places[own], last.size) != place(receive, last.places[n + own], last.other_size);
}

template <class C, class D>
void remember(LastCall& last, const Decision& d, std::ptrdiff_t input, const C* send_counts, const D* send_displacements, const OneForAll& send_types,
              std::ptrdiff_t output, const C* receive_counts, const D* receive_displacements, const OneForAll& receive_types, int size) {
    const auto plain = [](const OneForAll& types) { return is_plain({nullptr, 0, types.found}); };
    if (d.plan.lengths || !plain(send_types) || !plain(receive_types)) return;
    last.decision = &d;
    last.count = 0;
    last.datatype = send_types.handle;
    last.other_datatype = receive_types.handle;
    last.root = 0;
    last.input = input;
    last.output = output;
    last.size = send_types.found->size;
    last.other_size = receive_types.found->size;
    last.counts.clear();
    last.places.clear();
    last.add_arrays(send_counts, send_displacements, size);
    last.add_arrays(receive_counts, receive_displacements, size);
}

template <class C, class D, class Types>
const Decision* exchange(Call& call, CommunicatorContext& s, const void* send, const C* send_counts, const D* send_displacements, Types send_types,
                         void* receive, const C* receive_counts, const D* receive_displacements, Types receive_types) {
    if (const Decision* left = s.left_at_any_length(Operation::alltoallv)) return call.pass(left->reason);
    auto& [from, to] = per_thread<Exchange>();
    const bool in_place = send == MPI_IN_PLACE;
    const auto own = static_cast<std::size_t>(s.rank);
    if (!acceptable(receive, receive_counts, receive_displacements, receive_types, s.size, to, is_nobody)) return call.pass(Reason::arguments);
    if (!in_place && (!acceptable(send, send_counts, send_displacements, send_types, s.size, from, is_nobody) ||
                      same_memory(from[own], to[own])))
        return call.pass(Reason::arguments);
    const Blocks& sent = in_place ? to : from;
    const bool direct = all_packed(to), direct_from = !in_place && all_packed(sent);
    Problem& problem = s.problem(Operation::alltoallv);
    std::byte* output = direct ? as_they_lie(to, problem.blocks) : nullptr;
    std::byte* input = direct_from ? as_they_lie(sent, problem.sends) : nullptr;
    const std::size_t copied_out = direct ? 0 : put_in_line(to, problem.blocks), copied_in = direct_from ? 0 : put_in_line(sent, problem.sends);
    const auto remember_it = [&](const Decision& d) {
        if constexpr (std::is_same_v<Types, OneForAll>)
            if (input && output && !call.is_persistent())
                remember(s.last(Operation::alltoallv), d, input - static_cast<const std::byte*>(send), send_counts, send_displacements, send_types,
                         output - static_cast<std::byte*>(receive), receive_counts, receive_displacements, receive_types, s.size);
    };
    const Decision& chosen = s.decide(problem);
    if (!chosen.algorithm) remember_it(chosen);
    if (!call.serves(chosen)) return nullptr;
    if (!in_place && !call.own_block_fits(s, Operation::alltoallv, bytes_of(from[own]), bytes_of(to[own]))) return nullptr;

    const Trim trim{s.workspace};
    const Decision& d = call.planned(s, chosen, problem);
    remember_it(d);
    if (!direct) output = call.workspace(s).get(Workspace::output, copied_out);
    if (!direct_from) {
        input = call.workspace(s).get(Workspace::input, copied_in);
        pack_all(sent, problem.sends, input);
    }
    run_into(call, s, d, input, output, direct, to, problem.blocks);
    return &d;
}

}  // namespace

template <class C, class D>
const Decision* alltoallv(Call& call, const void* send, const C* send_counts, const D* send_displacements, MPI_Datatype send_type,
                          void* receive, const C* receive_counts, const D* receive_displacements, MPI_Datatype receive_type) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const LastCall& last = s->last(Operation::alltoallv);
    if (!call.is_persistent() && same_call(last, *s, send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements, receive_type)) [[likely]]
        return call.serve(*s, *last.decision, static_cast<const std::byte*>(send) + last.input, static_cast<std::byte*>(receive) + last.output);
    return exchange(call, *s, send, send_counts, send_displacements, OneForAll{send_type}, receive, receive_counts,
                    receive_displacements, OneForAll{receive_type});
}

template <class C, class D>
const Decision* alltoallw(Call& call, const void* send, const C* send_counts, const D* send_displacements, const MPI_Datatype* send_types,
                          void* receive, const C* receive_counts, const D* receive_displacements, const MPI_Datatype* receive_types) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    return exchange(call, *s, send, send_counts, send_displacements, OneForEach{send_types}, receive, receive_counts,
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
