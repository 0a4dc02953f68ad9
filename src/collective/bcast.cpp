// barrier and bcast.
#include "collective/buffers.h"
#include "collective/operations.h"

namespace fanlight {

const Decision* barrier(Call& call) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::barrier);
    if (!last.decision) {
        const Decision& d = s->decide({.operation = Operation::barrier});
        last.decision = &d;
    }
    return call.serve(*s, *last.decision, nullptr, nullptr);
}

const Decision* bcast(Call& call, void* buffer, MPI_Count count, MPI_Datatype handle, int root) {
    CommunicatorContext* s = call.context();
    if (!s) return nullptr;
    LastCall& last = s->last(Operation::bcast);
    if (last.count == count && last.datatype == handle && last.root == root && ordinary(buffer)) [[likely]]
        return call.serve(*s, *last.decision, buffer, buffer);

    Elements e;
    if (root < 0 || root >= s->size || !acceptable(buffer, count, handle, e)) return call.pass(Reason::arguments);
    if (!can_pack(e.bytes())) return call.pass(Reason::too_large);
    const Decision& d = s->decide({.operation = Operation::bcast, .root = root, .bytes = e.bytes()});
    if (is_plain(e))
        last = {.decision = &d, .count = count, .datatype = handle, .root = root};
    if (e.direct()) return call.serve(*s, d, buffer, buffer);
    if (!call.serves(d)) return nullptr;
    const Trim trim{s->workspace};
    const PackedOutput output(e, call, *s);
    const bool is_root = s->rank == root;
    if (is_root) e.pack(output.bytes());
    call.run(*s, d, output.bytes(), output.bytes(), nullptr, [=] {
        if (!is_root) output.finish();
    });
    return &d;
}

}  // namespace fanlight
