// One call of a collective operation: from the program's entry to the group, or to the MPI library.
//
//   Call call("bcast", comm);
//   if (const Decision* d = bcast(call, buffer, count, datatype, root)) return call.served(*d);
//   return call.passed(next(buffer, count, datatype, root, comm), [&] { return bytes; });
//
// With a request the call is non-blocking or persistent.  The same functions start a non-blocking one; they initialize a
// persistent one, and prepare it again at each start if buffers have to be packed.
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "collective/mpi_header.h"
#include "collective/persistent.h"
#include "collective/reason.h"
#include "collective/report.h"
#include "collective/communicator_context.h"

namespace fanlight {

// An error in a call of MPI's, by the communicator's error handler; MPI_COMM_WORLD's where the call has none.
int raised(const std::exception&, MPI_Comm = MPI_COMM_WORLD);

class Call {
public:
    Call(const char* operation, MPI_Comm comm, MPI_Request* request = nullptr)
        : timer_(operation), comm_(comm), request_(request), communicator_(communicators::find(comm)) {}
    // MPI_Xxx_init.
    Call(const char* operation, MPI_Comm comm, MPI_Info, MPI_Request* request) : Call(operation, comm, request) {
        initializes_ = true;
    }
    // A persistent operation that is started.
    explicit Call(Persistent& p) : begun_(&p) {}
    ~Call() {
        if (request_ && begun_) [[unlikely]] delete begun_;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // The group of its communicator; null: the MPI library serves it.  Once in each call.
    CommunicatorContext* context() {
        if (begun_) [[unlikely]] return begun_->context.get();
        if (!communicator_ && !may_be_first()) [[unlikely]] return nullptr;
        return request_ ? starting() : communicator_->context(reason_);
    }
    bool starts() const { return request_ != nullptr || begun_ != nullptr; }
    bool is_persistent() const { return persistent_ || (begun_ && !request_); }
    Persistent& persistent() { return *persistent_; }
    // Where packed copies lie until the operation is over.
    Workspace& workspace(CommunicatorContext& s) { return begun_ ? begun_->workspace : s.workspace; }
    // An operator of the program's for that.
    void uses(MPI_Op op) { begun_->uses(op); }
    // For what is done when it is over.
    const Datatype* kept(const Datatype* d) { return begun_ && request_ ? begun_->kept(d) : d; }

    // Runs it and then finish(), or starts it: then finish() is for later, and holds by value
    // what it needs.
    template <class Finish>
    void run(CommunicatorContext& s, const Decision& d, const void* input, void* output, const Combiner* combiner, Finish&& finish) {
        if (begun_) [[unlikely]] {
            begun_->finish = std::forward<Finish>(finish);
            return begin(d, input, output, combiner);
        }
        s.run(d, input, output, combiner);
        finish();
    }
    void run(CommunicatorContext& s, const Decision& d, const void* input, void* output, const Combiner* combiner) {
        if (begun_) [[unlikely]] return begin(d, input, output, combiner);
        s.run(d, input, output, combiner);
    }
    // Runs it, if what was decided serves this call; else null, and the MPI library does.
    [[gnu::always_inline]] const Decision* serve(CommunicatorContext& s, const Decision& d, const void* input, void* output) {
        if (!serves(d)) return nullptr;
        run(s, d, input, output, nullptr);
        return &d;
    }

    // CommunicatorContext::planned; a persistent one that is started again has its plan.
    const Decision& planned(CommunicatorContext& s, const Decision& d, Problem& problem) {
        if (begun_ && begun_->decision && is_same_call(begun_->decision->problem, problem)) return *begun_->decision;
        return s.planned(d, problem);
    }

    // Whether what was decided serves this call; else the MPI library does.  Once in each call, and from
    // where all ranks come.
    bool serves(const Decision& d) {
        if (!d.algorithm) return reason_ = d.reason, false;
        if (persistent_) [[unlikely]] return communicator_->give_memory(*persistent_->context, d, reason_);
        return !d.guarded || guard_leaves_it(*d.guarded);
    }
    // After that: false, and the MPI library serves it, where the block that this rank sends to itself has two lengths.  If not
    // all ranks' have, it is an error on all of them, as far as they can be told.
    bool own_block_fits(CommunicatorContext& s, Operation operation, std::size_t sent, std::size_t received) {
        if (sent == received) [[likely]] return true;
        if (s.on_one_node() && (has_root(operation) || (!begun_ && !s.group().all_leave(to_string(operation)))))
            s.own_block_differs(operation, sent, received);
        reason_ = Reason::arguments;
        return false;
    }
    // Instead of `serves` for a reduction that is guarded and whose bits would be others.  Not null: the MPI library's own is
    // to be run once on other memory.
    guard::Calls* theirs_beside(const Decision&);

    // For the MPI library, because ...
    const Decision* pass(Reason reason) {
        reason_ = reason;
        return nullptr;
    }

    int served(const Decision& decision) const {
        timer_.end(decision.bytes, decision.text, to_string(decision.transport), Reason::none);
        if (compared_) [[unlikely]] guard_learns();  // decision may be gone then
        return MPI_SUCCESS;
    }
    int raised(const std::exception& e) const { return fanlight::raised(e, comm_); }
    // The MPI library has served it; `bytes` is asked for the report alone.
    template <class Bytes>
    int passed(int error, Bytes&& bytes) {
        if (!communicator_ && communicators::open.load(std::memory_order_relaxed)) [[unlikely]]
            communicators::first_seen(comm_, starts(), error);
        if (timer_.is_on()) [[unlikely]] timer_.end(error == MPI_SUCCESS ? bytes() : 0, "", "", reason_);
        if (compared_) [[unlikely]] guard_learns();
        return error;
    }

private:
    CommunicatorContext* starting();
    bool guard_leaves_it(guard::Calls&);
    void guard_learns() const;
    // Whether it is served although the MPI library has had no call on its communicator.
    bool may_be_first();
    void begin(const Decision& d, const void* input, void* output, const Combiner* combiner) {
        begun_->begin(d, input, output, combiner, request_);
        begun_ = nullptr;
    }
    static Reason why_unknown() {
        if (communicators::open.load(std::memory_order_relaxed)) return Reason::few_calls;
        return communicators::ended.load(std::memory_order_relaxed) ? Reason::no_world : Reason::disabled;
    }

    report::Timer timer_;
    MPI_Comm comm_{};
    MPI_Request* request_ = nullptr;
    bool initializes_ = false;
    Communicator* communicator_ = nullptr;
    InFlightOperation* begun_ = nullptr;  // ours until it begins; of a persistent one that is started: never
    Persistent* persistent_ = nullptr;
    Reason reason_ = Reason::not_served;
    guard::Calls* compared_ = nullptr;
};

// What the MPI library has moved, for the report: `count` elements, or 0 where the buffer is
// MPI_IN_PLACE.
std::size_t bytes_of(const void* buffer, MPI_Count count, MPI_Datatype datatype);

}  // namespace fanlight
