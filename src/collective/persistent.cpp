// Persistent operations, and those of them that complete in the library.
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "collective/call.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/persistent.h"
#include "collective/progress.h"
#include "collective/quiet.h"

namespace fanlight {

namespace requests {

std::atomic<int> in_library{0};
std::atomic<std::size_t> persistent{0};

namespace {

// Persistent operations by their requests.
struct Table {
    std::mutex mutex;
    std::unordered_map<MPI_Request, Persistent*> all;
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
    if (!any_persistent()) return nullptr;
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

Persistent* find_in_library(MPI_Request request) {
    Persistent* const p = find(request);
    return p && p->is_in_library() ? p : nullptr;
}

template <class Do>
void each_in_library(int count, const MPI_Request all[], Do&& act) {
    for (int i = 0; i < count; ++i)
        if (Persistent* p = find_in_library(all[i])) act(*p);
}

inline void count_in_library(int change) {
    // Without a locked instruction where it needs none.
    if (many_threads.load(std::memory_order_relaxed)) [[unlikely]] in_library.fetch_add(change, std::memory_order_relaxed);
    else in_library.store(in_library.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

}  // namespace

bool wait_in_library(MPI_Request request, MPI_Status* status) {
    Persistent* const p = find_in_library(request);
    if (!p) return false;
    p->wait();
    p->end();
    set_empty(status);
    return true;
}

bool get_status(MPI_Request request, int* flag, MPI_Status* status) {
    Persistent* const p = find(request);
    if (!p) return false;
    if (p->is_in_library()) {
        *flag = finished_in_library(1, &request);
    } else {
        fanlight::progress();
        progress();
        *flag = !p->is_active();
    }
    if (!*flag) return true;
    set_empty(status);
    // Of an inactive one that is part of it.
    if (!p->is_active() && status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    return true;
}

bool test_in_library(MPI_Request request, int* flag, MPI_Status* status) {
    Persistent* const p = find_in_library(request);
    if (!p) return false;
    *flag = finished_in_library(1, &request);
    if (!*flag) return true;
    p->end();
    set_empty(status);
    return true;
}

void finish_in_library(int count, const MPI_Request all[]) {
    each_in_library(count, all, [](Persistent& p) { p.wait(); });
    end_in_library(count, all);
}

bool finished_in_library(int count, const MPI_Request all[]) {
    bool finished = true;
    each_in_library(count, all, [&](Persistent& p) { finished &= p.poll(); });
    if (!finished) {
        fanlight::progress();
        progress();
    }
    return finished;
}

void end_in_library(int count, const MPI_Request all[]) {
    each_in_library(count, all, [](Persistent& p) { p.end(); });
}

void hand_over(int count, const MPI_Request all[]) {
    each_in_library(count, all, [](Persistent& p) { p.hand_over(); });
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

bool persistent_freed(MPI_Request request) {
    Persistent* const p = find(request);
    if (!p) return false;
    {
        const std::scoped_lock lock(table().mutex);
        table().all.erase(request);
        --persistent;
        ++generation;
    }
    p->abandoned = true;
    if (p->let_go()) delete p;
    return true;
}

}  // namespace requests

void Persistent::begin(const Decision& d, const void* input, void* output, const Combiner* combiner, MPI_Request* handle) {
    decision = d.shared_from_this();
    if (handle) {
        reserve(d.plan);
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
        ++requests::persistent;
        *handle = request;
    }
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
    state_ |= active;
    if (group_.begin(*this, decision->plan, input_, output_, reduces_ ? &combiner_ : nullptr)) [[likely]] {
        apart_ = true;
        requests::count_in_library(1);
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

bool Persistent::poll() {
    if (!finished) {
        if (!group_.poll(*this)) return false;
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
    state_ &= ~active;
    apart_ = false;
    requests::count_in_library(-1);
}

void Persistent::hand_over() {
    apart_ = false;
    requests::count_in_library(-1);
    mpi().Start(&request);
    if (finished) complete_request();
    else requests::adopt(group_, *this);
}

void Persistent::complete() {
    if (mismatched) [[unlikely]] stop(group_.why_mismatched());  // a receive cannot carry Fanlight's error
    if (finish) finish();
    complete_request();
}

void Persistent::complete_request() {
    const int tag = tag_;
    // A thread that frees it from now on deletes it.
    const bool last = (state_.fetch_and(~active) & freed) != 0;
    mpi().Send(nullptr, 0, MPI_BYTE, 0, tag, quiet_communicator());
    if (last) delete this;
}

bool Persistent::let_go() {
    return (state_.fetch_or(freed) & active) == 0;
}

}  // namespace fanlight
