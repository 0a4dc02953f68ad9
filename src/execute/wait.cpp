#include "execute/wait.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
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

// Longer than most waits of ranks in step; about what two switches of contexts cost.
constexpr std::int64_t spin_for = 20 * microsecond;
constexpr std::int64_t look_every = 200 * millisecond;
// With a core for each rank, a rank that yields to some other program may not get its core back
// for milliseconds, and all its peers wait for it; so it keeps it for that long itself.
constexpr std::int64_t keep_core_for = millisecond;
constexpr unsigned rounds_of_pauses = 128;
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
    return static_cast<unsigned>(std::clamp<std::int64_t>(ns * 100 / hundred, 100, 10'000));
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
    // The clock costs some 30 ns, which ranks that are short of cores feel.  But a yield may take
    // milliseconds, if another program computes: who has waited for long looks every time.
    rounds_per_look_ = oversubscribed_ ? 4 : 1;
    progress_every_ns_ = (oversubscribed_ ? 200 : 50) * microsecond;
    yield_after_ns_ = oversubscribed_ ? 0 : keep_core_for;
    sleep_after_ns_ = oversubscribed_ ? 5 * millisecond : second;
    spins_ = oversubscribed_ ? 0 : spins_in(spin_for, pause);
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

void Waiter::relax(State& s, int peer, const char* what) {
    if (s.sleep_ns > 0) {
        sleep_for(s.sleep_ns);
    } else {
        if (s.yields) ::sched_yield();
        else pause();
        if (++s.rounds % (s.yields ? rounds_per_look_ : rounds_of_pauses) != 0) return;
    }
    const std::int64_t now = clock_ns();
    if (s.started_ns == 0) {
        s.started_ns = now;
        s.next_progress_ns = now + progress_every_ns_;
        s.next_look_ns = now + look_every;
        const double wait = config().waiting_report;
        s.next_report_ns = wait > 0 && wait < 1e9 ? now + static_cast<std::int64_t>(wait * 1e9) : never;
        return;
    }
    if (now >= s.next_progress_ns) {
        s.next_progress_ns = now + progress_every_ns_;
        if (hooks_.progress) hooks_.progress();
    }
    if (now >= s.next_look_ns) look(s, peer, what, now);
    if (now >= s.next_report_ns) report(s, peer, what, now);
    // A sleep is a small part of what has been waited already, and so is what it may add.
    const std::int64_t waited = now - s.started_ns;
    s.yields = yields_ && waited >= yield_after_ns_;
    if (waited >= sleep_after_ns_)
        s.sleep_ns = std::clamp<std::int64_t>(waited / 64, 50 * microsecond, millisecond);
}

int Waiter::find_ended(int peer) const {
    const auto ended = [this](std::size_t r) { return members_[r] && members_[r]->ended(); };
    const auto first = static_cast<std::size_t>(peer);
    if (peer >= 0 && first < members_.size() && ended(first)) return peer;
    for (std::size_t r = 0; r < members_.size(); ++r)
        if (ended(r)) return static_cast<int>(r);
    return -1;
}

void Waiter::look(State& s, int peer, const char* what, std::int64_t now_ns) {
    s.next_look_ns = now_ns + look_every;
    if (also_look_) also_look_();
    const int ended = find_ended(peer);
    if (ended != s.ended) {
        s.ended = ended;
        s.ended_ns = now_ns;
        if (ended >= 0) s.next_look_ns = now_ns + confirm_after;
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
