#include "collective/requests.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/communicator.h"
#include "collective/error.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/progress.h"
#include "collective/progress_hook.h"
#include "execute/operations_in_flight.h"

namespace fanlight {

namespace requests {

std::atomic<int> count{0};

namespace {

// Of MPI_Op_create.  MPI has no function that makes a second handle of one.
struct Operators {
    struct Use {
        int uses = 0;
        bool freed = false;  // by the program
    };
    std::mutex mutex;
    std::unordered_map<MPI_Op, Use> all;
    std::atomic<bool> any{false};
};
Operators& operators() {
    static Operators& o = *new Operators;
    return o;
}

void use(MPI_Op op) {
    const std::scoped_lock lock(operators().mutex);
    ++operators().all[op].uses;
    operators().any = true;
}

void release(MPI_Op op) {
    bool freed;
    {
        const std::scoped_lock lock(operators().mutex);
        const auto it = operators().all.find(op);
        if (--it->second.uses > 0) return;
        freed = it->second.freed;
        operators().all.erase(it);
        operators().any = !operators().all.empty();
    }
    if (freed) mpi().Op_free(&op);
}

}  // namespace

bool kept(MPI_Op* op) {
    if (!operators().any) return false;
    const std::scoped_lock lock(operators().mutex);
    const auto it = operators().all.find(*op);
    if (it == operators().all.end()) return false;
    it->second.freed = true;
    *op = MPI_OP_NULL;
    return true;
}

namespace {

OperationsInFlight& operations_in_flight() {
    static OperationsInFlight& u = *new OperationsInFlight;
    return u;
}

InFlightOperation& started(Run& run) { return static_cast<InFlightOperation&>(run); }

// Those whose operations were mismatched, by the numbers that the MPI library hands back to us, and their errors.
struct Failed {
    std::mutex mutex;
    std::unordered_map<const void*, int> numbers;
    std::atomic<bool> any{false};
};
Failed& failed() {
    static Failed& f = *new Failed;
    return f;
}
int error_of(const void* number) {
    if (!failed().any) return MPI_SUCCESS;
    const std::scoped_lock lock(failed().mutex);
    const auto found = failed().numbers.find(number);
    return found == failed().numbers.end() ? MPI_SUCCESS : found->second;
}

// What MPI calls an empty status, but for those.
extern "C" int fanlight_request_query(void* number, MPI_Status* status) {
    mpi().Status_set_elements(status, MPI_BYTE, 0);
    mpi().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return error_of(number);
}
extern "C" int fanlight_request_free(void* number) {
    if (failed().any) {
        const std::scoped_lock lock(failed().mutex);
        failed().numbers.erase(number);
        failed().any = !failed().numbers.empty();
    }
    return MPI_SUCCESS;
}
extern "C" int fanlight_request_cancel(void*, int) { return MPI_SUCCESS; }

// Not the caller's any more, nor is the group: it may have been completed when begin() returns.
template <class Begin>
void set_out(const Group& group, Begin&& begin) {
    count.fetch_add(1, std::memory_order_relaxed);
    const bool messages = group.has_messages();
    begin();
    if (messages && messages_in_flight()) progress_hook::install();
}

}  // namespace

void adopt(Group& group, Run& run) {
    set_out(group, [&] { operations_in_flight().adopt(group, run); });
}

void set_empty(MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) fanlight_request_query(nullptr, status);
}

bool can_be_in_flight() { return operations_in_flight().has_helper(); }
bool messages_in_flight() { return operations_in_flight().has_messages(); }
void advance_inside() { operations_in_flight().advance_inside(); }

bool progress() {
    bool completed = false;
    while (any()) {
        Run* const run = operations_in_flight().poll();
        if (!run) break;
        started(*run).complete();
        count.fetch_sub(1, std::memory_order_relaxed);
        completed = true;
    }
    return completed;
}

void poll() {
    constexpr int most = 64;
    progress();
    for (int i = 0; i < most && messages_in_flight() && fanlight::progress().worked; ++i) progress();
}

bool wait(const std::function<bool()>& test) {
    // The waiter of the oldest one's group: it knows the member waited for, and whether it lives.
    std::shared_ptr<CommunicatorContext> context;
    int peer = -1;
    progress();
    if (test()) return true;
    if (!operations_in_flight().any_of([&](Run& run) {
            context = started(run).context;
            peer = run.waits_for;
            return true;
        }))
        return false;
    Waiter& waiter = context->group().waiter();
    // A look at the MPI library's own requests costs more than one at ours.
    const unsigned polls_per_test = waiter.oversubscribed() ? 1 : 4;
    unsigned polls = 0;
    bool done = false;
    waiter(peer, "MPI_Wait", [&] {
        const bool completed = progress();
        if (completed || ++polls % polls_per_test == 0) done = test();
        return done || !any();
    }, false);
    return done;
}

int wait_all(int count, MPI_Request all[], MPI_Status statuses[], int (*test)(MPI_Request*, int*, MPI_Status*)) {
    std::vector<int> errors(static_cast<std::size_t>(std::max(count, 0)), MPI_SUCCESS);
    bool failed = false;
    for (int i = 0; i < count; ++i) {
        int flag = 0, &error = errors[static_cast<std::size_t>(i)];
        MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        const auto tested = [&] { return (error = test(&all[i], &flag, status)) != MPI_SUCCESS || flag; };
        // Fanlight has nothing in flight any more.
        if (!wait(std::ref(tested))) error = mpi().Wait(&all[i], status);
        failed |= error != MPI_SUCCESS;
    }
    if (!failed) return MPI_SUCCESS;
    if (statuses != MPI_STATUSES_IGNORE)
        for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
    return MPI_ERR_IN_STATUS;
}

void freed(MPI_Request request) {
    if (persistent_freed(request) || !any()) return;
    const bool ours = operations_in_flight().any_of([&](Run& run) {
        if (started(run).request != request) return false;
        started(run).request = MPI_REQUEST_NULL;
        started(run).abandoned = true;
        return true;
    });
    if (ours) mpi().Grequest_complete(request);
}

void finish_freed() {
    wait([] { return !operations_in_flight().any_of([](Run& run) { return started(run).abandoned; }); });
}

}  // namespace requests

// Here, since others of the group's operations may be in flight.
void CommunicatorContext::own_block_differs(Operation operation, std::size_t sent, std::size_t received) {
    requests::operations_in_flight().mismatched(group(), "rank " + std::to_string(rank) + " sends " + std::to_string(sent) +
                                                   " bytes to itself where it expects " + std::to_string(received) + " in " +
                                                   std::string(to_string(operation)));
}

void CommunicatorContext::neighbors_block_differs(int from, std::size_t bytes, std::size_t other_bytes) {
    requests::operations_in_flight().mismatched(group(), "rank " + std::to_string(rank) + " expects " + std::to_string(bytes) + " and " +
                                                   std::to_string(other_bytes) + " bytes from rank " + std::to_string(from) +
                                                   ", which sends one block along all edges, in neighbor_allgather");
}

InFlightOperation::InFlightOperation(std::shared_ptr<CommunicatorContext> s) : context(std::move(s)) {}

InFlightOperation::~InFlightOperation() {
    for (Datatype& d : datatypes_) mpi().Type_free(&d.handle);
    if (op_ != MPI_OP_NULL) requests::release(op_);
}

// Not MPI_Type_dup: it would call the copy functions of the program's attributes.
const Datatype* InFlightOperation::kept(const Datatype* d) {
    if (d->named()) return d;
    Datatype& copy = datatypes_.emplace_back(*d);
    mpi().Type_contiguous(1, d->handle, &copy.handle);
    mpi().Type_commit(&copy.handle);
    return &copy;
}

void InFlightOperation::uses(MPI_Op op) {
    if (op_ != MPI_OP_NULL) return;  // a persistent one, when it is started
    requests::use(op_ = op);
}

void InFlightOperation::begin(const Decision& d, const void* input, void* output, const Combiner* combiner, MPI_Request* handle) {
    decision = d.shared_from_this();
    reserve(d.plan);
    static std::atomic<std::uintptr_t> last{0};
    number_ = reinterpret_cast<void*>(++last);
    if (mpi().Grequest_start(requests::fanlight_request_query, requests::fanlight_request_free, requests::fanlight_request_cancel, number_,
                             &request) != MPI_SUCCESS)
        stop("MPI_Grequest_start failed");
    *handle = request;
    Group& group = context->group();
    const void* const kept_input = input_of(d.problem, input);
    requests::set_out(group, [&] { requests::operations_in_flight().start(group, *this, d.plan, kept_input, output, combiner); });
}

// MPI forbids changing the input before the operation is over.  Programs do so with short ones, such as FEniCSx with the
// temporary that it passes to MPI_Iexscan: MPICH and Open MPI have usually sent them by then.
const void* InFlightOperation::input_of(const Problem& p, const void* input) {
    using enum Operation;
    const bool one_block = p.operation == reduce || p.operation == allreduce || p.operation == scan || p.operation == exscan ||
                           p.operation == gather || p.operation == allgather;
    if (!input || !one_block || p.bytes > sizeof short_input_) return input;
    return std::memcpy(short_input_, input, p.bytes);
}

void InFlightOperation::complete() {
    if (mismatched) [[unlikely]] raise();
    else if (finish) finish();
    if (request != MPI_REQUEST_NULL) mpi().Grequest_complete(request);
    delete this;
}

void InFlightOperation::raise() {
    const std::string why = context->group().why_mismatched();
    say(why);
    const int code = error_code(why);
    {
        const std::scoped_lock lock(requests::failed().mutex);
        requests::failed().numbers[number_] = code;
        requests::failed().any = true;
    }
    // Its handle may be another one's by now.
    const Communicator* const known = communicators::find(context->comm());
    fanlight::raise(known && known->starts_with(*context) ? context->comm() : MPI_COMM_WORLD, why);
}

}  // namespace fanlight
