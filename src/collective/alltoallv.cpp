// alltoallv, alltoallw: blocks of their own lengths to each rank and from each; alltoallw's have
// datatypes of their own as well.
#include "collective/block_lists.h"
#include "collective/operations.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

bool is_nobody(int) { return false; }

struct Exchange {
    Blocks from, to;
};

template <class C, class D, class Types>
const Decision* exchange(Call& call, const void* send, const C* send_counts, const D* send_displacements, Types send_types,
                         void* receive, const C* receive_counts, const D* receive_displacements, Types receive_types) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    const Decision& chosen = s->decide(Operation::alltoallv, 0);
    if (!chosen.algorithm) return call.pass(chosen.reason);
    auto& [from, to] = per_thread<Exchange>();
    const bool in_place = send == MPI_IN_PLACE;
    const auto own = static_cast<std::size_t>(s->rank);
    if (!acceptable(receive, receive_counts, receive_displacements, receive_types, s->size, to, is_nobody)) return call.pass(Reason::arguments);
    if (!in_place && (!acceptable(send, send_counts, send_displacements, send_types, s->size, from, is_nobody) ||
                      bytes_of(from[own]) != bytes_of(to[own]) || same_memory(from[own], to[own])))
        return call.pass(Reason::arguments);
    if (!call.serves(chosen)) return nullptr;

    const Trim trim{s->workspace};
    Problem& problem = s->problem(Operation::alltoallv);
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
    const Decision& d = call.planned(*s, chosen, problem);
    if (direct) {
        call.run(*s, d, input, output, nullptr);
    } else if (call.starts()) {
        Blocks kept = to;
        for (Elements& e : kept)
            if (e.datatype) e.datatype = call.kept(e.datatype);
        call.run(*s, d, input, output, nullptr, [=, places = problem.blocks] { unpack_all(kept, places, output); });
    } else {
        s->run(d, input, output, nullptr);
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
