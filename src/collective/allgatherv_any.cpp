// fanlight_allgatherv_any: an allgatherv without counts.
//
// Where the ranks share a node it is one operation (execute/unknown_lengths.h), followed by an
// allgatherv where a block was too long for it.  Elsewhere it is what a program would do without it:
// an allgather of the lengths, and an allgatherv.
#include "collective/mpi_header.h"

#include "fanlight/allgatherv_any.h"

#include <climits>
#include <numeric>
#include <vector>

#include "collective/buffers.h"
#include "collective/library.h"
#include "collective/serving.h"
#include "execute/unknown_lengths.h"

namespace fanlight {

namespace {

struct Received {
    void* memory;
    int capacity;
    int *counts, *places;
    const Datatype* datatype;
    MPI_Datatype handle;
};

int fault_of_arguments(const Elements& own, const Received& to) {
    if (own.count < 0 || to.capacity < 0) return MPI_ERR_COUNT;
    if (!own.datatype || !to.datatype) return MPI_ERR_TYPE;
    if (!to.counts || !to.places) return MPI_ERR_ARG;
    const auto lacks = [](const void* memory, MPI_Count count, const Datatype& d) {
        // A datatype of the program's may hold addresses: then null is MPI_BOTTOM.
        return memory == MPI_IN_PLACE || (!memory && count > 0 && d.size > 0 && (d.named() || d.packed));
    };
    if (lacks(own.memory, own.count, *own.datatype) || lacks(to.memory, to.capacity, *to.datatype)) return MPI_ERR_BUFFER;
    return MPI_SUCCESS;
}

// The counts and displacements of all ranks' lengths, and whether there is room for them.
int lay_out(const std::vector<std::size_t>& lengths, const Received& to) {
    const std::size_t element = to.datatype->size;
    std::size_t place = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
        if (element ? lengths[r] % element : lengths[r]) return MPI_ERR_TYPE;
        const std::size_t count = element ? lengths[r] / element : 0;
        if (count > INT_MAX - place) return MPI_ERR_COUNT;
        to.counts[r] = static_cast<int>(count);
        to.places[r] = static_cast<int>(place);
        place += count;
    }
    return place > static_cast<std::size_t>(to.capacity) ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

const std::byte* input_of(Serving& s, const Elements& own) {
    return own.bytes() ? packed_input(own, s.workspace) : nullptr;
}

// Where the packed bytes of all ranks come, one behind the other, and then to their place.
std::byte* output_of(Serving& s, const Received& to, std::size_t total) {
    return to.datatype->packed ? static_cast<std::byte*>(to.memory) : s.workspace.get(Workspace::output, total);
}
void finish(const Received& to, const std::byte* output, std::size_t total) {
    if (!to.datatype->packed && total) unpack(*to.datatype, output, to.memory, total / to.datatype->size);
}

// An operation without data of its own kind: nothing of it depends on what a rank gives.
const Decision& decide_blindly(Serving& s) {
    LastCall& last = s.last(Operation::allgatherv_any);
    if (!last.decision) last = {.decision = &s.decide({.operation = Operation::allgatherv_any})};
    return *last.decision;
}

// All know all lengths.
int allgatherv(Serving* s, const std::vector<std::size_t>& lengths, const Elements& own, const Received& to, MPI_Comm comm) {
    const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    if (total == 0) return MPI_SUCCESS;
    if (s && can_pack(total)) {
        const Decision& d = s->decide(lengths);
        if (d.algorithm) {
            std::byte* const output = output_of(*s, to, total);
            s->run(d, input_of(*s, own), output, nullptr);
            finish(to, output, total);
            return MPI_SUCCESS;
        }
    }
    return mpi().Allgatherv(own.memory, static_cast<int>(own.count), own.datatype->handle, to.memory, to.counts, to.places,
                            to.handle, comm);
}

int allgather_lengths(Serving* s, std::size_t own, std::vector<std::size_t>& lengths, MPI_Comm comm) {
    static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));
    if (s) {
        lengths.resize(static_cast<std::size_t>(s->size));
        const Decision& d = s->decide({.operation = Operation::allgather, .bytes = sizeof own});
        if (d.algorithm) {
            s->run(d, &own, lengths.data(), nullptr);
            return MPI_SUCCESS;
        }
    } else {
        int inter = 0, size = 0;
        if (const int error = mpi().Comm_test_inter(comm, &inter)) return error;
        if (inter) return MPI_ERR_COMM;
        mpi().Comm_size(comm, &size);
        lengths.resize(static_cast<std::size_t>(size));
    }
    return mpi().Allgather(&own, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, comm);
}

int serve(Call& call, Serving* s, const Elements& own, const Received& to, MPI_Comm comm) {
    const Decision* const d = s ? &decide_blindly(*s) : nullptr;
    if (!d || !d->any) {
        if (d) call.pass(d->reason);
        std::vector<std::size_t> lengths;
        int error = allgather_lengths(s, own.bytes(), lengths, comm);
        if (!error) error = lay_out(lengths, to);
        if (!error) error = allgatherv(s, lengths, own, to, comm);
        return call.passed(error, [&] { return own.bytes(); });
    }

    const Trim trim{s->workspace};
    UnknownLengths& any = *d->any;
    any.exchange(input_of(*s, own), own.bytes());
    int error = lay_out(any.lengths(), to);
    const bool at_once = !error && any.complete();
    std::byte* const output = at_once ? output_of(*s, to, any.total()) : nullptr;
    any.take(output);
    if (at_once) finish(to, output, any.total());
    else if (!error) error = allgatherv(s, any.lengths(), own, to, comm);
    call.served(*d);
    return error;
}

int allgatherv_any(const Elements& own, const Received& to, MPI_Comm comm) {
    if (const int fault = fault_of_arguments(own, to)) return fault;
    Call call("allgatherv_any", comm);
    try {
        return serve(call, call.serving(), own, to, comm);
    } catch (const std::exception& e) {
        return call.raised(e);
    }
}

}  // namespace

}  // namespace fanlight

extern "C" __attribute__((visibility("default"))) int fanlight_allgatherv_any(
    const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcapacity, int recvcounts[],
    int displs[], MPI_Datatype recvtype, MPI_Comm comm) {
    const fanlight::Datatype* const sent = fanlight::datatype(sendtype);
    const fanlight::Datatype* const received = recvtype == sendtype ? sent : fanlight::datatype(recvtype);
    return fanlight::allgatherv_any({sendbuf, sendcount, sent}, {recvbuf, recvcapacity, recvcounts, displs, received, recvtype}, comm);
}
