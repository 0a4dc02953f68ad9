// Collective and two-sided communication: MPI's, which Fanlight's preload serves.
#include <climits>
#include <initializer_list>
#include <vector>

#include "dart/datatype.h"
#include "dart/names.h"
#include "dart/operator.h"
#include "global/mpi_calls.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {

// What nearly every call needs; `error` says whether it may go on.
struct Call {
    const char* function;
    dart_ret_t error = DART_OK;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int size = 0, unit = 0;
    global::Fenced fenced;

    Call(const char* name, dart_team_t team, dart_datatype_t dtype, std::initializer_list<size_t> counts)
        : function(name) {
        const global::Team* const t = team_of(name, team, error);
        if (!t) return;
        comm = t->comm;
        size = t->size;
        unit = t->unit;
        type = mpi_datatype(dtype);
        if (type == MPI_DATATYPE_NULL) error = invalid(name, "no contiguous type");
        for (const size_t count : counts)
            if (count > INT_MAX) error = invalid(name, "more than 2147483647 elements");
    }
    void check_unit(int root) {
        if (error == DART_OK && (root < 0 || root >= size)) error = invalid(function, "no such unit in the team");
    }
    dart_ret_t done(int code) const { return mpi_status(function, code); }
};

int to_int(size_t n) { return static_cast<int>(n); }

// False where one of them is longer than MPI's int.
bool to_ints(const size_t* from, int count, std::vector<int>& to) {
    for (int i = 0; i < count; ++i) {
        if (from[i] > INT_MAX) return false;
        to.push_back(to_int(from[i]));
    }
    return true;
}

}  // namespace

dart_ret_t dart_barrier(dart_team_t team) { return status("dart_barrier", fanlight_team_barrier(fanlight_id(team))); }

dart_ret_t dart_bcast(void* buf, size_t n, dart_datatype_t type, dart_team_unit_t root, dart_team_t team) {
    Call c("dart_bcast", team, type, {});
    c.check_unit(root.id);
    if (c.error) return c.error;
    return c.done(global::in_pieces(n, [&](size_t first, int count) {
        return MPI_Bcast(static_cast<char*>(buf) + first * datatype(type)->bytes, count, c.type, root.id, c.comm);
    }));
}

dart_ret_t dart_scatter(const void* send, void* recv, size_t n, dart_datatype_t type, dart_team_unit_t root,
                        dart_team_t team) {
    Call c("dart_scatter", team, type, {n});
    c.check_unit(root.id);
    if (c.error) return c.error;
    void* const to = send == recv && c.unit == root.id ? MPI_IN_PLACE : recv;
    return c.done(MPI_Scatter(send, to_int(n), c.type, to, to_int(n), c.type, root.id, c.comm));
}

dart_ret_t dart_gather(const void* send, void* recv, size_t n, dart_datatype_t type, dart_team_unit_t root,
                       dart_team_t team) {
    Call c("dart_gather", team, type, {n});
    c.check_unit(root.id);
    if (c.error) return c.error;
    const void* const from = send == recv && c.unit == root.id ? MPI_IN_PLACE : send;
    return c.done(MPI_Gather(from, to_int(n), c.type, recv, to_int(n), c.type, root.id, c.comm));
}

dart_ret_t dart_allgather(const void* send, void* recv, size_t n, dart_datatype_t type, dart_team_t team) {
    const Call c("dart_allgather", team, type, {n});
    if (c.error) return c.error;
    const void* const from = !send || send == recv ? MPI_IN_PLACE : send;
    return c.done(MPI_Allgather(from, to_int(n), c.type, recv, to_int(n), c.type, c.comm));
}

dart_ret_t dart_allgatherv(const void* send, size_t n, dart_datatype_t type, void* recv, const size_t* counts,
                           const size_t* offsets, dart_team_t team) {
    const Call c("dart_allgatherv", team, type, {n});
    if (c.error) return c.error;
    std::vector<int> lengths, starts;
    if (!counts || !offsets || !to_ints(counts, c.size, lengths) || !to_ints(offsets, c.size, starts))
        return invalid("dart_allgatherv", "no counts, or more than 2147483647 elements");
    const void* const from = !send || send == recv ? MPI_IN_PLACE : send;
    return c.done(MPI_Allgatherv(from, to_int(n), c.type, recv, lengths.data(), starts.data(), c.type, c.comm));
}

dart_ret_t dart_alltoall(const void* send, void* recv, size_t n, dart_datatype_t type, dart_team_t team) {
    const Call c("dart_alltoall", team, type, {n});
    if (c.error) return c.error;
    const void* const from = !send || send == recv ? MPI_IN_PLACE : send;
    return c.done(MPI_Alltoall(from, to_int(n), c.type, recv, to_int(n), c.type, c.comm));
}

dart_ret_t dart_alltoallv(const void* send, void* recv, size_t* send_counts, size_t* send_offsets,
                          size_t* recv_counts, size_t* recv_offsets, dart_datatype_t type, dart_team_t team) {
    const Call c("dart_alltoallv", team, type, {});
    if (c.error) return c.error;
    std::vector<int> ints[4];
    const size_t* const from[4] = {send_counts, send_offsets, recv_counts, recv_offsets};
    for (int i = 0; i < 4; ++i)
        if (!from[i] || !to_ints(from[i], c.size, ints[i]))
            return invalid("dart_alltoallv", "no counts, or more than 2147483647 elements");
    return c.done(MPI_Alltoallv(send, ints[0].data(), ints[1].data(), c.type, recv, ints[2].data(), ints[3].data(),
                                c.type, c.comm));
}

namespace {

// `act`: MPI's function; `root`: its argument, if it has one.
template <class Act, class... Root>
dart_ret_t reduce(const Call& c, const void* from, void* to, size_t n, dart_datatype_t type, dart_operation_t op, Act* act, Root... root) {
    if (c.error) return c.error;
    const Reduction r = reduction(op, type, n);
    if (r.op == MPI_OP_NULL) return invalid(c.function, "the operator is none for this type and number of elements");
    return c.done(act(from, to, to_int(r.count), r.type, r.op, root..., c.comm));
}

}  // namespace

dart_ret_t dart_allreduce(const void* send, void* recv, size_t n, dart_datatype_t type, dart_operation_t op,
                          dart_team_t team) {
    return reduce({"dart_allreduce", team, type, {n}}, send == recv ? MPI_IN_PLACE : send, recv, n, type, op, MPI_Allreduce);
}

dart_ret_t dart_exscan(const void* send, void* recv, size_t n, dart_datatype_t type, dart_operation_t op,
                       dart_team_t team) {
    return reduce({"dart_exscan", team, type, {n}}, send == recv ? MPI_IN_PLACE : send, recv, n, type, op, MPI_Exscan);
}

dart_ret_t dart_reduce(const void* send, void* recv, size_t n, dart_datatype_t type, dart_operation_t op,
                       dart_team_unit_t root, dart_team_t team) {
    Call c("dart_reduce", team, type, {n});
    c.check_unit(root.id);
    const void* const from = send == recv && c.unit == root.id ? MPI_IN_PLACE : send;
    return reduce(c, from, recv, n, type, op, MPI_Reduce, root.id);
}

dart_ret_t dart_send(const void* send, size_t n, dart_datatype_t type, int tag, dart_global_unit_t unit) {
    Call c("dart_send", DART_TEAM_ALL, type, {n});
    c.check_unit(unit.id);
    return c.error ? c.error : c.done(MPI_Send(send, to_int(n), c.type, unit.id, tag, c.comm));
}

dart_ret_t dart_recv(void* recv, size_t n, dart_datatype_t type, int tag, dart_global_unit_t unit) {
    Call c("dart_recv", DART_TEAM_ALL, type, {n});
    c.check_unit(unit.id);
    return c.error ? c.error : c.done(MPI_Recv(recv, to_int(n), c.type, unit.id, tag, c.comm, MPI_STATUS_IGNORE));
}

dart_ret_t dart_sendrecv(const void* send, size_t n, dart_datatype_t type, int tag, dart_global_unit_t dest,
                         void* recv, size_t recv_n, dart_datatype_t recv_type, int recv_tag, dart_global_unit_t src) {
    Call c("dart_sendrecv", DART_TEAM_ALL, type, {n, recv_n});
    c.check_unit(dest.id);
    c.check_unit(src.id);
    const MPI_Datatype other = mpi_datatype(recv_type);
    if (c.error == DART_OK && other == MPI_DATATYPE_NULL) return invalid("dart_sendrecv", "no contiguous type");
    return c.error ? c.error
                   : c.done(MPI_Sendrecv(send, to_int(n), c.type, dest.id, tag, recv, to_int(recv_n), other, src.id,
                                         recv_tag, c.comm, MPI_STATUS_IGNORE));
}
