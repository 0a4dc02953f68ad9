#include "execute/operations_in_flight.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace fanlight {

namespace {
constexpr auto helper_polls_every = std::chrono::milliseconds(1);
// ... while nobody but the helper advances anything.
constexpr auto advance_every = std::chrono::microseconds(100);
// ... and compares what the ranks call.
constexpr unsigned polls_per_comparison = 200;
// To wake the helper costs a system call: it goes on looking for a while.
constexpr int polls_before_sleep = 100;
}  // namespace

OperationsInFlight::~OperationsInFlight() {
    ended_ = true;
    asleep_ = false;
    asleep_.notify_one();
    if (helper_.joinable()) helper_.join();
}

bool OperationsInFlight::has_helper() {
    const std::scoped_lock lock(mutex_);
    if (helper_.joinable()) return true;
    // Signals are the program's own threads'.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        helper_ = std::thread([this] { help(); });
    } catch (const std::system_error&) {
        // The process may have no more of them.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return helper_.joinable();
}

void OperationsInFlight::start(Group& group, Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    take(group, run, [&] { group.start(run, plan, input, output, combiner); });
}

void OperationsInFlight::adopt(Group& group, Run& run) {
    take(group, run, [&] { group.adopt(run); });
}

constinit thread_local bool OperationsInFlight::Turn::taken = false;

template <class Begin>
void OperationsInFlight::take(Group& group, Run& run, Begin&& begin) {
    {
        const Turn turn(*this);
        begin();
        runs_.push_back(&run);
        if (!group.advance()) return;
        if (std::ranges::find(groups_, &group) == groups_.end()) groups_.push_back(&group);
        busy_ = true;
        if (group.has_messages()) messages_ = true;
    }
    if (asleep_) {
        asleep_ = false;
        asleep_.notify_one();
    }
}

void OperationsInFlight::advance(bool messages) {
    std::erase_if(groups_, [&](Group* group) { return (messages || !group->has_messages()) && !group->advance(); });
    if (groups_.empty()) busy_ = false;
    if (messages_ && std::ranges::none_of(groups_, &Group::has_messages)) messages_ = false;
}

Run* OperationsInFlight::poll() {
    const Turn turn(*this, std::try_to_lock);
    if (!turn.lock) return nullptr;
    polls_.fetch_add(1, std::memory_order_relaxed);
    advance(true);
    const auto it = std::ranges::find_if(runs_, [](const Run* run) { return run->finished; });
    if (it == runs_.end()) return nullptr;
    Run* run = *it;
    runs_.erase(it);
    return run;
}

void OperationsInFlight::advance_inside() {
    const Turn turn(*this, std::try_to_lock);
    if (turn.lock) advance(true);
}

void OperationsInFlight::help() {
    std::uint64_t seen = 0;
    int idle = 0;
    unsigned rounds = 0;
    bool alone = false;
    while (!ended_) {
        if (alone) std::this_thread::sleep_for(advance_every);
        else std::this_thread::sleep_for(helper_polls_every);
        if (!busy_) {
            alone = false;
            if (++idle < polls_before_sleep) continue;
            idle = 0;
            asleep_ = true;
            if (!busy_ && !ended_) asleep_.wait(true);
            asleep_ = false;
            continue;
        }
        idle = 0;
        const std::uint64_t polls = polls_.load(std::memory_order_relaxed);
        alone = polls == seen;
        if (alone) {
            const Turn turn(*this);
            advance(false);
        }
        seen = polls;
        if (++rounds % polls_per_comparison == 0) {
            const Turn turn(*this);
            for (Group* group : groups_) group->compare_in_flight();
        }
    }
}

}  // namespace fanlight
