#include "execute/wait.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "config/config.h"
#include "execute/process_watch.h"
#include "topology/cores.h"

namespace fanlight {

namespace {

constexpr std::int64_t microsecond = 1'000, millisecond = 1'000'000, second = 1'000'000'000;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// Longer than most waits of ranks in step.
constexpr std::int64_t spin_for = 4 * microsecond;
// A poll takes a tenth to half a microsecond, in which the flag that is waited for may come.
constexpr std::int64_t spin_between_polls = microsecond / 2;
// Oversubscribed ranks in step wait for so many yields.
constexpr unsigned yields_first = 16;
// Whoever has the MPI library do something soon does so again: who found it out polls on, and the
// longer the surer it is; that a poll found something may be a wrong guess.
constexpr int most_polls_on = 128;
constexpr std::int64_t look_every = 200 * millisecond;
// With a core for each rank, a rank that yields to some other program may not get its core back
// for milliseconds, and all its peers wait for it; so it keeps it for that long itself.
constexpr std::int64_t keep_core_for = millisecond;
// Between finding that the peer has ended and giving up, ready() is looked at again: what the
// peer did before its end has reached us by then.
constexpr std::int64_t confirm_after = 10 * millisecond;
// Another member that has ended may have done its part, and then this wait will end.
constexpr std::int64_t grace_for_others = 3 * second;

std::int64_t clock_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * second + t.tv_nsec;
}

void sleep_for(std::int64_t ns) {
    const timespec t{ns / second, ns % second};
    ::nanosleep(&t, nullptr);
}

// A pause takes 10 to 150 cycles, depending on the processor.
unsigned spins_in(std::int64_t ns, void (*pause)()) {
    static const std::int64_t hundred = [pause] {
        std::int64_t best = never;
        for (int i = 0; i < 5; ++i) {
            const std::int64_t start = clock_ns();
            for (int k = 0; k < 100; ++k) pause();
            best = std::min(best, clock_ns() - start);
        }
        return std::max<std::int64_t>(best, 1);
    }();
    return static_cast<unsigned>(std::clamp<std::int64_t>(ns * 100 / hundred, 4, 10'000));
}

WaitPolicy policy_from(const std::string& text) {
    if (text == "spin") return WaitPolicy::spin;
    if (text == "yield") return WaitPolicy::yield;
    if (text == "sleep") return WaitPolicy::sleep;
    return WaitPolicy::automatic;
}

std::string duration(std::int64_t ns) {
    if (ns >= second) return std::to_string(ns / second) + " s";
    if (ns >= millisecond) return std::to_string(ns / millisecond) + " ms";
    return std::to_string(ns / microsecond) + " us";
}

std::string rank_text(int peer) {
    return peer < 0 ? "the others" : "rank " + std::to_string(peer);
}

}  // namespace

Waiter::Waiter(int ranks_on_node, Hooks hooks, int cores)
    : hooks_(std::move(hooks)),
      policy_(policy_from(config().wait)),
      ranks_on_node_(ranks_on_node),
      cores_(cores > 0 ? cores : usable_cores()) {
    oversubscribed_ = ranks_on_node_ > cores_;
    yield_after_ns_ = oversubscribed_ ? 0 : keep_core_for;
    sleep_after_ns_ = oversubscribed_ ? 5 * millisecond : second;
    spins_ = oversubscribed_ ? 0 : spins_in(spin_for, pause);
    spins_between_polls_ = spins_in(spin_between_polls, pause);
    switch (policy_) {
        case WaitPolicy::automatic:
            break;
        case WaitPolicy::spin:
            spins_ = spins_in(spin_for, pause);
            yields_ = false;
            sleep_after_ns_ = never;
            break;
        case WaitPolicy::yield:
            spins_ = 0;
            yield_after_ns_ = 0;
            sleep_after_ns_ = never;
            break;
        case WaitPolicy::sleep:
            spins_ = 0;
            yield_after_ns_ = 0;
            sleep_after_ns_ = 50 * microsecond;
            break;
    }
    spins_left_ = spins_before_poll * spins_;
    if (yield_after_ns_ == 0) yields_ahead_ = yields_first;
}

Waiter::~Waiter() = default;

std::string Waiter::policy_text() const {
    std::string text;
    if (!yields_) {
        text = "spin";
    } else {
        if (spins_ > 0) text = "spin " + duration(std::max(spin_for, yield_after_ns_)) + ", ";
        text += "yield";
        if (sleep_after_ns_ != never) text += ", sleep after " + duration(sleep_after_ns_);
    }
    text += " (" + std::to_string(ranks_on_node_) + " ranks on " + std::to_string(cores_) +
            (cores_ == 1 ? " core" : " cores");
    return text + (policy_ == WaitPolicy::automatic ? ")" : ", forced by FANLIGHT_WAIT)");
}

void Waiter::watch(std::span<const pid_t> pids, int own_rank) {
    rank_ = own_rank;
    members_.clear();
    for (std::size_t r = 0; r < pids.size(); ++r)
        members_.push_back(r == static_cast<std::size_t>(own_rank) ? nullptr
                                                                  : ProcessWatch::of(pids[r]));
}

void Waiter::share_cores(std::uint64_t* first, std::size_t stride) {
    cores_of_members_ = reinterpret_cast<std::byte*>(first);
    stride_ = stride;
}

// As both have said when they last waited for long.  Where it is no longer so, a yield in vain
// costs little.
bool Waiter::peer_is_on_this_core(int peer) {
    const int cpu = cores_of_members_ ? ::sched_getcpu() : -1;
    if (cpu < 0) return false;
    const auto core_of = [this](int rank) {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(cores_of_members_ + static_cast<std::size_t>(rank) * stride_));
    };
    const std::uint64_t here = static_cast<std::uint64_t>(cpu) + 1;
    if (core_of(rank_).load(std::memory_order_relaxed) != here) core_of(rank_).store(here, std::memory_order_relaxed);
    return peer >= 0 && peer != rank_ && core_of(peer).load(std::memory_order_relaxed) == here;
}

void Waiter::relax(State& s, int peer, const char* what) {
    const unsigned left = yields_left_.load(std::memory_order_relaxed);
    if (s.rounds++ < yields_ahead_ && left > 0) {
        yields_left_.store(left - 1, std::memory_order_relaxed);
        ::sched_yield();
        return;
    }
    yields_left_.store(yields_before_poll, std::memory_order_relaxed);
    const Polled polled = hooks_.progress ? hooks_.progress() : Polled{};
    const std::int64_t now = clock_ns();
    if (s.started_ns == 0) {
        s.started_ns = now;
        s.next_check_ns = now + look_every;
        const double wait = config().waiting_report;
        s.next_report_ns = wait > 0 && wait < 1e9 ? now + static_cast<std::int64_t>(wait * 1e9) : never;
    }
    if (polled.worked) {
        s.worked_ns = now;
        s.polls_on = s.polls_on_next = std::min(2 * s.polls_on_next, most_polls_on);
    }
    if (now >= s.next_check_ns) check(s, peer, what, now);
    if (now >= s.next_report_ns) report(s, peer, what, now);

    s.spins = 0;
    if (s.polls_on > 0) {
        --s.polls_on;
        return;
    }
    s.polls_on_next = std::max(s.polls_on_next / 2, 1);
    const std::int64_t quiet = now - std::max(s.started_ns, s.worked_ns);
    if (!yields_ || !(now - s.started_ns >= yield_after_ns_ || peer_is_on_this_core(peer))) {
        s.spins = spins_between_polls_;
    } else if (quiet >= sleep_after_ns_ && !polled.awake) {
        // A small part of the time in which nobody has wanted anything, and so is what it may add.
        sleep_for(std::clamp<std::int64_t>(quiet / 64, 50 * microsecond, millisecond));
    } else if (!polled.yielded) {
        ::sched_yield();
    }
}

std::int64_t Waiter::begun(unsigned spins) const {
    return clock_ns() - (spins_ > 0 ? spin_for * spins / spins_ : 0);
}

void Waiter::tell(const State& s, int peer) const { hooks_.waited(peer, s.begun_ns, clock_ns()); }

int Waiter::find_ended(int peer) const {
    const auto ended = [this](std::size_t r) { return members_[r] && members_[r]->ended(); };
    const auto first = static_cast<std::size_t>(peer);
    if (peer >= 0 && first < members_.size() && ended(first)) return peer;
    for (std::size_t r = 0; r < members_.size(); ++r)
        if (ended(r)) return static_cast<int>(r);
    return -1;
}

void Waiter::check(State& s, int peer, const char* what, std::int64_t now_ns) {
    s.next_check_ns = now_ns + look_every;
    if (s.owner && also_check_) also_check_();
    const int ended = find_ended(peer);
    if (ended != s.ended) {
        s.ended = ended;
        s.ended_ns = now_ns;
        if (ended >= 0) s.next_check_ns = now_ns + confirm_after;
        return;
    }
    if (ended < 0) return;
    const bool awaited = peer < 0 || ended == peer;
    if (awaited || now_ns - s.ended_ns >= grace_for_others) give_up(ended, peer, what);
}

void Waiter::give_up(int ended, int peer, const char* what) {
    fail("rank " + std::to_string(ended) + " (process " +
         std::to_string(members_[static_cast<std::size_t>(ended)]->pid()) +
         ") has ended while rank " + std::to_string(rank_) + " waits for " +
         (ended == peer ? "it" : rank_text(peer)) + " in " + what);
}

void Waiter::fail(const std::string& message) {
    const std::string line = "fanlight: " + message;
    if (hooks_.dead) hooks_.dead(line);
    else std::fprintf(stderr, "%s\n", line.c_str());
    std::abort();
}

void Waiter::report(State& s, int peer, const char* what, std::int64_t now_ns) {
    const std::int64_t waited = now_ns - s.started_ns;
    s.next_report_ns = s.started_ns + 2 * waited;
    const std::string message = "fanlight: rank " + std::to_string(rank_) + " waits for " +
                                rank_text(peer) + " in " + what + " since " + duration(waited);
    if (hooks_.say) hooks_.say(message);
    else std::fprintf(stderr, "%s\n", message.c_str());
}

}  // namespace fanlight
