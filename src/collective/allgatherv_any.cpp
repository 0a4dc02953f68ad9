// fanlight_allgatherv_any: an allgatherv without counts.
//
// It is an allgather of records.  A record has the length of a rank's block and, if it fits, the block.  Blocks that do
// not fit follow in an allgatherv, whose lengths all ranks know by then.  The length of a record follows from the lengths
// of earlier calls, which all ranks know alike.
#include "collective/mpi_header.h"

#include "fanlight/allgatherv_any.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <vector>

#include "collective/buffers.h"
#include "collective/library.h"
#include "collective/communicator_context.h"
#include "schedule/per_thread.h"

namespace fanlight {

namespace {

// In front of a block.
constexpr std::size_t length_bytes = sizeof(std::size_t);

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
        return memory == MPI_IN_PLACE || lacks_memory(memory, static_cast<std::size_t>(count) * d.size, d);
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

// The blocks that came in records, to their places.
void unpack_records(const std::byte* records, std::size_t record, const std::vector<std::size_t>& lengths, const Received& to) {
    for (std::size_t r = 0; r < lengths.size(); ++r, records += record) {
        if (lengths[r] == 0) continue;
        std::byte* const at = static_cast<std::byte*>(to.memory) + to.places[r] * to.datatype->extent;
        Elements{at, to.counts[r], to.datatype, device_memory::holds(at)}.unpack(records + length_bytes);
    }
}

// All know all lengths.
int allgatherv(CommunicatorContext* s, const std::vector<std::size_t>& lengths, const Elements& own, const Received& to, MPI_Comm comm) {
    const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    if (s && can_pack(total)) {
        Problem& p = s->problem(Operation::allgatherv);
        std::size_t place = 0;
        for (const std::size_t bytes : lengths) {
            p.blocks.push_back({place, bytes});
            place += bytes;
        }
        const Decision& d = s->decide(p);
        if (d.algorithm) {
            const std::size_t element = to.datatype->size;
            const Elements all{to.memory, static_cast<MPI_Count>(element ? total / element : 0), to.datatype, device_memory::holds(to.memory)};
            std::byte* const output = all.direct() ? static_cast<std::byte*>(to.memory) : s->workspace.get(Workspace::output, total);
            s->run(d, own.bytes() ? packed_input(own, s->workspace) : nullptr, output, nullptr);
            if (!all.direct()) all.unpack(output);
            return MPI_SUCCESS;
        }
    }
    return mpi().Allgatherv(own.memory, static_cast<int>(own.count), own.datatype->handle, to.memory, to.counts, to.places,
                            to.handle, comm);
}

int ranks_of(MPI_Comm comm, std::size_t& ranks) {
    int inter = 0, size = 0;
    if (const int error = mpi().Comm_test_inter(comm, &inter)) return error;
    if (inter) return MPI_ERR_COMM;
    mpi().Comm_size(comm, &size);
    ranks = static_cast<std::size_t>(size);
    return MPI_SUCCESS;
}

// `d` is the decision for the records, and null without Fanlight.
int serve(CommunicatorContext* s, const Decision* d, std::size_t record, const Elements& own, const Received& to, MPI_Comm comm) {
    Workspace& workspace = s ? s->workspace : per_thread<Workspace, struct Unserved>();
    const Trim trim{workspace};
    std::size_t ranks = s ? static_cast<std::size_t>(s->size) : 0;
    if (!s)
        if (const int error = ranks_of(comm, ranks)) return error;
    std::byte* const mine = workspace.get(Workspace::input, record);
    std::byte* const all = workspace.get(Workspace::output, record * ranks);
    const std::size_t length = own.bytes();
    std::memcpy(mine, &length, length_bytes);
    if (length > 0 && length_bytes + length <= record) own.pack(mine + length_bytes);
    if (d && d->algorithm) s->run(*d, mine, all, nullptr);
    else if (const int error = mpi().Allgather(mine, static_cast<int>(record), MPI_BYTE, all, static_cast<int>(record), MPI_BYTE, comm))
        return error;

    auto& lengths = per_thread<std::vector<std::size_t>, struct Lengths>();
    lengths.resize(ranks);
    std::size_t longest = 0, total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        std::memcpy(&lengths[r], all + r * record, length_bytes);
        longest = std::max(longest, lengths[r]);
        total += lengths[r];
    }
    if (s) s->record.follow(length_bytes + longest, length_bytes * ranks + total, ranks);
    if (const int error = lay_out(lengths, to)) return error;
    if (length_bytes + longest > record) return allgatherv(s, lengths, own, to, comm);
    unpack_records(all, record, lengths, to);
    return MPI_SUCCESS;
}

int allgatherv_any(const Elements& own, const Received& to, MPI_Comm comm) {
    if (const int fault = fault_of_arguments(own, to)) return fault;
    Call call("allgatherv_any", comm);
    try {
        CommunicatorContext* const s = call.context();
        const std::size_t record = s ? s->record.bytes() : length_bytes;
        // Held: one of what does not fit the records may follow.
        const auto d = s ? s->decide({.operation = Operation::allgather, .bytes = record}).shared_from_this() : nullptr;
        const int error = serve(s, d.get(), record, own, to, comm);
        if (d && d->algorithm) return call.served(*d), error;
        if (d) call.pass(d->reason);
        return call.passed(error, [&] { return own.bytes(); });
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
    return fanlight::allgatherv_any({sendbuf, sendcount, sent, fanlight::device_memory::holds(sendbuf)}, {recvbuf, recvcapacity, recvcounts, displs, received, recvtype}, comm);
}
