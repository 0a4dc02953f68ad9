// One call of a collective operation: from the program's entry to the group, or to the MPI
// library.
//
//   Call call("bcast", comm);
//   if (const Decision* d = bcast(call, buffer, count, datatype, root)) return call.served(*d);
//   return call.passed(next(buffer, count, datatype, root, comm), [&] { return bytes; });
#pragma once

#include "collective/communicator.h"
#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "collective/report.h"
#include "collective/serving.h"

namespace fanlight {

class Call {
public:
    Call(const char* operation, MPI_Comm comm) : operation_(operation), comm_(comm) {
        if (report::on()) [[unlikely]] started_ = report::now_ns();
        communicator_ = communicators::find(comm);
    }

    // The group of its communicator; null: the MPI library serves it.  Once in each call.
    Serving* serving() {
        if (communicator_) [[likely]] return communicator_->serving(reason_);
        reason_ = why_unknown();
        return nullptr;
    }
    // For the MPI library, because ...
    const Decision* pass(Reason reason) {
        reason_ = reason;
        return nullptr;
    }

    int served(const Decision& decision) const {
        if (started_) [[unlikely]] record(decision);
        return MPI_SUCCESS;
    }
    // The MPI library has served it; `bytes` is asked for the report alone.
    template <class Bytes>
    int passed(int error, Bytes&& bytes) {
        if (!communicator_ && error == MPI_SUCCESS && communicators::open.load(std::memory_order_relaxed)) [[unlikely]]
            communicators::first_seen(comm_);
        if (started_) [[unlikely]] record(error == MPI_SUCCESS ? bytes() : 0);
        return error;
    }

private:
    static Reason why_unknown() {
        if (communicators::open.load(std::memory_order_relaxed)) return Reason::few_calls;
        return communicators::ended.load(std::memory_order_relaxed) ? Reason::no_world : Reason::disabled;
    }
    void record(const Decision&) const;
    void record(std::size_t bytes) const;

    const char* operation_;
    MPI_Comm comm_;
    Communicator* communicator_;
    std::int64_t started_ = 0;
    Reason reason_ = Reason::not_served;
};

// What the MPI library has moved, for the report: `count` elements, or 0 where the buffer is
// MPI_IN_PLACE.
std::size_t bytes_of(const void* buffer, MPI_Count count, MPI_Datatype datatype);

}  // namespace fanlight
