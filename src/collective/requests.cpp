#include "collective/requests.h"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "collective/call.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/progress.h"
#include "collective/quiet.h"
#include "execute/under_way.h"

namespace fanlight {

namespace requests {

std::atomic<int> count{0}, apart{0};

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

UnderWay& under_way() {
    static UnderWay& u = *new UnderWay;
    return u;
}

Started& started(Run& run) { return static_cast<Started&>(run); }

// Those whose operations were out of step, by the numbers that the MPI library hands back to us.
struct Failed {
    std::mutex mutex;
    std::unordered_set<const void*> numbers;
    std::atomic<bool> any{false};
};
Failed& failed() {
    static Failed& f = *new Failed;
    return f;
}
bool is_failed(const void* number) {
    if (!failed().any) return false;
    const std::scoped_lock lock(failed().mutex);
    return failed().numbers.contains(number);
}

// What MPI calls an empty status, but for those.
extern "C" int fanlight_request_query(void* number, MPI_Status* status) {
    mpi().Status_set_elements(status, MPI_BYTE, 0);
    mpi().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return is_failed(number) ? MPI_ERR_OTHER : MPI_SUCCESS;
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

// Persistent operations by their requests.
struct Table {
    std::mutex mutex;
    std::unordered_map<MPI_Request, Persistent*> all;
    std::atomic<std::size_t> size{0};
    // Of those that exist: two of one tag would be told of each other's end.
    std::unordered_set<int> tags;
    int last_tag = 0;

    // Any tag but that of progress.cpp's receive; MPI has at least so many.
    int take_tag() {
        constexpr int most = 32766;
        if (tags.size() == most) stop("more than " + std::to_string(most) + " persistent collectives at one time");
        do last_tag = last_tag % most + 1;
        while (!tags.insert(last_tag).second);
        return last_tag;
    }
};
Table& table() {
    static Table& t = *new Table;
    return t;
}

// Changes when one is gone, whose request may come again.
constinit std::atomic<std::uint64_t> generation{1};
// MPI_THREAD_MULTIPLE.
constinit std::atomic<bool> many_threads{true};

struct Last {
    MPI_Request request{};
    std::uint64_t generation = 0;
    Persistent* persistent = nullptr;
};
__attribute__((tls_model("initial-exec"))) constinit thread_local Last last{};

[[gnu::noinline]] Persistent* look_up(MPI_Request request) {
    Table& t = table();
    if (t.size.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::scoped_lock lock(t.mutex);
    const auto it = t.all.find(request);
    if (it == t.all.end()) return nullptr;
    last = {request, generation.load(std::memory_order_relaxed), it->second};
    return it->second;
}

inline Persistent* find(MPI_Request request) {
    if (last.request == request && last.generation == generation.load(std::memory_order_relaxed)) [[likely]] return last.persistent;
    return look_up(request);
}

Persistent* find_apart(MPI_Request request) {
    Persistent* const p = find(request);
    return p && p->is_apart() ? p : nullptr;
}

template <class Do>
void each_apart(int count, const MPI_Request all[], Do&& act) {
    for (int i = 0; i < count; ++i)
        if (Persistent* p = find_apart(all[i])) act(*p);
}

void set_empty(MPI_Status* status) {
    if (status != MPI_STATUS_IGNORE) fanlight_request_query(nullptr, status);
}

inline void count_apart(int change) {
    // Without a locked instruction where it needs none.
    if (many_threads.load(std::memory_order_relaxed)) [[unlikely]] apart.fetch_add(change, std::memory_order_relaxed);
    else apart.store(apart.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

void adopt(Group& group, Run& run) {
    count.fetch_add(1, std::memory_order_relaxed);
    under_way().adopt(group, run);
}

}  // namespace

bool can_be_under_way() { return under_way().has_helper(); }

bool wait_apart(MPI_Request request, MPI_Status* status) {
    Persistent* const p = find_apart(request);
    if (!p) return false;
    p->wait();
    p->end();
    set_empty(status);
    return true;
}

bool get_status_apart(MPI_Request request, int* flag, MPI_Status* status) {
    if (!find_apart(request)) return false;
    *flag = finished_apart(1, &request);
    if (*flag) set_empty(status);
    return true;
}

bool test_apart(MPI_Request request, int* flag, MPI_Status* status) {
    if (!get_status_apart(request, flag, status)) return false;
    if (*flag) find(request)->end();
    return true;
}

void finish_apart(int count, const MPI_Request all[]) {
    each_apart(count, all, [](Persistent& p) { p.wait(); });
    end_apart(count, all);
}

bool finished_apart(int count, const MPI_Request all[]) {
    bool finished = true;
    each_apart(count, all, [&](Persistent& p) { finished &= p.look(); });
    if (!finished) {
        fanlight::progress();
        progress();
    }
    return finished;
}

void end_apart(int count, const MPI_Request all[]) {
    each_apart(count, all, [](Persistent& p) { p.end(); });
}

void hand_over(int count, const MPI_Request all[]) {
    each_apart(count, all, [](Persistent& p) { p.hand_over(); });
}

bool start(MPI_Request request) {
    Persistent* const p = find(request);
    if (p) p->start();
    return p != nullptr;
}

bool start(int count, const MPI_Request all[], int& error) {
    error = MPI_SUCCESS;
    if (std::none_of(all, all + std::max(count, 0), find)) return false;
    for (int i = 0; i < count && error == MPI_SUCCESS; ++i) {
        MPI_Request request = all[i];
        if (Persistent* p = find(request)) p->start();
        else error = mpi().Start(&request);
    }
    return true;
}

bool progress() {
    bool completed = false;
    if (!any()) return completed;
    while (Run* run = under_way().poll()) {
        started(*run).complete();
        count.fetch_sub(1, std::memory_order_relaxed);
        completed = true;
    }
    return completed;
}

bool wait(const std::function<bool()>& test) {
    // The waiter of the oldest one's group: it knows the member waited for, and whether it lives.
    std::shared_ptr<Serving> serving;
    int peer = -1;
    progress();
    if (test()) return true;
    if (!under_way().any_of([&](Run& run) {
            serving = started(run).serving;
            peer = run.waits_for;
            return true;
        }))
        return false;
    Waiter& waiter = serving->group().waiter();
    // A look at the MPI library's own requests costs more than one at ours.
    const unsigned looks_per_test = waiter.oversubscribed() ? 1 : 4;
    unsigned looks = 0;
    bool done = false;
    waiter(peer, "MPI_Wait", [&] {
        const bool completed = progress();
        if (completed || ++looks % looks_per_test == 0) done = test();
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
        // Nothing of ours is under way any more: the others are waited for by the library's tests alone.
        if (!wait(tested))
            while (!tested()) sched_yield();
        failed |= error != MPI_SUCCESS;
    }
    if (!failed) return MPI_SUCCESS;
    if (statuses != MPI_STATUSES_IGNORE)
        for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
    return MPI_ERR_IN_STATUS;
}

void freed(MPI_Request request) {
    if (Persistent* p = find(request)) {
        {
            const std::scoped_lock lock(table().mutex);
            table().all.erase(request);
            --table().size;
            ++generation;
        }
        if (p->let_go()) delete p;
        else p->abandoned = true;
        return;
    }
    if (!any()) return;
    const bool ours = under_way().any_of([&](Run& run) {
        if (started(run).request != request) return false;
        started(run).request = MPI_REQUEST_NULL;
        started(run).abandoned = true;
        return true;
    });
    if (ours) mpi().Grequest_complete(request);
}

void finish_freed() {
    while (any() && under_way().any_of([](Run& run) { return started(run).abandoned; }))
        if (!progress()) sched_yield();
}

}  // namespace requests

// Here, since others of the group's operations may be under way.
void Serving::own_block_differs(Operation operation, std::size_t sent, std::size_t received) {
    requests::under_way().out_of_step(group(), "rank " + std::to_string(rank) + " sends " + std::to_string(sent) +
                                                   " bytes to itself where it expects " + std::to_string(received) + " in " +
                                                   std::string(to_string(operation)));
}

Started::Started(std::shared_ptr<Serving> s) : serving(std::move(s)) { ++serving->under_way; }

Started::~Started() {
    for (Datatype& d : datatypes_) mpi().Type_free(&d.handle);
    if (op_ != MPI_OP_NULL) requests::release(op_);
    --serving->under_way;
}

// Not MPI_Type_dup: it would call the copy functions of the program's attributes.
const Datatype* Started::kept(const Datatype* d) {
    if (d->named()) return d;
    Datatype& copy = datatypes_.emplace_back(*d);
    mpi().Type_contiguous(1, d->handle, &copy.handle);
    mpi().Type_commit(&copy.handle);
    return &copy;
}

void Started::uses(MPI_Op op) {
    if (op_ != MPI_OP_NULL) return;  // a persistent one, when it is started
    requests::use(op_ = op);
}

void Started::begin(const Plan& plan, const void* input, void* output, const Combiner* combiner, MPI_Request* handle) {
    reserve(plan);
    static std::atomic<std::uintptr_t> last{0};
    number_ = reinterpret_cast<void*>(++last);
    if (mpi().Grequest_start(requests::fanlight_request_query, requests::fanlight_request_free, requests::fanlight_request_cancel, number_,
                             &request) != MPI_SUCCESS)
        stop("MPI_Grequest_start failed");
    *handle = request;
    go(plan, input, output, combiner);
}

// Not ours any more: it may have been completed when this returns.
void Started::go(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    requests::count.fetch_add(1, std::memory_order_relaxed);
    requests::under_way().start(serving->group(), *this, plan, input, output, combiner);
}

void Started::complete() {
    if (out_of_step) [[unlikely]] raise();
    else if (finish) finish();
    if (request != MPI_REQUEST_NULL) mpi().Grequest_complete(request);
    delete this;
}

void Started::raise() {
    {
        const std::scoped_lock lock(requests::failed().mutex);
        requests::failed().numbers.insert(number_);
        requests::failed().any = true;
    }
    say(serving->group().why_out_of_step());
    // Its handle may be another one's by now.
    const Communicator* const known = communicators::find(serving->comm());
    mpi().Comm_call_errhandler(known && known->starts_with(*serving) ? serving->comm() : MPI_COMM_WORLD, MPI_ERR_OTHER);
}

void Persistent::begin(const Plan& plan, const void* input, void* output, const Combiner* combiner, MPI_Request* handle) {
    if (handle) {
        reserve(plan);
        as_it_lies_ = !workspace.used();
        if (as_it_lies_) finish = nullptr;
        requests::Table& t = requests::table();
        {
            const std::scoped_lock lock(t.mutex);
            tag_ = t.take_tag();
        }
        if (mpi().Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, quiet_communicator(), &request) != MPI_SUCCESS)
            stop("MPI_Recv_init failed");
        int threads = MPI_THREAD_MULTIPLE;
        mpi().Query_thread(&threads);
        const std::scoped_lock lock(t.mutex);
        requests::many_threads.store(threads == MPI_THREAD_MULTIPLE, std::memory_order_relaxed);
        t.all.emplace(request, this);
        ++t.size;
        *handle = request;
    }
    plan_ = &plan;
    input_ = input;
    output_ = output;
    reduces_ = combiner != nullptr;
    if (combiner) combiner_ = *combiner;
}

Persistent::~Persistent() {
    requests::Table& t = requests::table();
    const std::scoped_lock lock(t.mutex);
    t.tags.erase(tag_);
}

void Persistent::start() {
    if (!as_it_lies_) [[unlikely]] repack();
    active_ = true;
    if (group_.begin(*this, *plan_, input_, output_, reduces_ ? &combiner_ : nullptr)) [[likely]] {
        apart_ = true;
        requests::count_apart(1);
        // A rank whose waits are never long must let the MPI library progress nevertheless.
        constexpr unsigned starts_per_progress = 64;
        if (++starts_ % starts_per_progress == 0) [[unlikely]] progress();
        return;
    }
    mpi().Start(&request);
    requests::adopt(group_, *this);
}

void Persistent::repack() {
    Call call(*this);
    again(call);
}

bool Persistent::look() {
    if (!finished) {
        if (!group_.look(*this)) return false;
        if (finish) finish();
    }
    return true;
}

void Persistent::wait() {
    if (finished) return;
    group_.finish(*this);
    if (finish) finish();
}

void Persistent::end() {
    active_ = apart_ = false;
    requests::count_apart(-1);
}

void Persistent::hand_over() {
    apart_ = false;
    requests::count_apart(-1);
    mpi().Start(&request);
    if (finished) complete_request();
    else requests::adopt(group_, *this);
}

void Persistent::complete() {
    if (out_of_step) [[unlikely]] stop(group_.why_out_of_step());  // a receive has no error of ours
    if (finish) finish();
    complete_request();
}

void Persistent::complete_request() {
    active_ = false;
    const bool last = freed_;
    mpi().Send(nullptr, 0, MPI_BYTE, 0, tag_, quiet_communicator());
    if (last) delete this;
}

bool Persistent::let_go() {
    freed_ = true;
    return !active_;
}

}  // namespace fanlight
