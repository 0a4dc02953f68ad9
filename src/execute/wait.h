// The one wait function of the library: spin, poll, yield, sleep.
//
// How long each stage lasts follows from the cores that the node's ranks may really use together: an oversubscribed rank
// must not spin, nor one whose peer is on the very same core.  A waiting rank may owe a peer the other half of a send, or
// its part in a one-sided operation, and the MPI libraries move these in fragments, each of which takes a poll.  So after
// a few microseconds it polls the MPI library about once per microsecond, and once per yield.  While a poll finds
// something to do, the next follows at once.  The rank also checks whether the peers that it waits for are alive, and
// after a while reports who waits for whom.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execute/polled.h"

namespace fanlight {

class ProcessWatch;

enum class WaitPolicy { automatic, spin, yield, sleep };

class Waiter {
public:
    struct Hooks {
        // Lets the MPI library progress; may be empty.
        std::function<Polled()> progress;
        // A member died: must not return (the preload aborts the job).  Empty: message, abort().
        std::function<void(const std::string& message)> dead;
        // A line for the user; empty: standard error.
        std::function<void(const std::string& message)> say;
        // Told of each wait that was longer than the first spins; may be empty.
        std::function<void(int peer, std::int64_t begun_ns, std::int64_t ended_ns)> waited = nullptr;
    };

    // cores: what all ranks of the node may use together (topology/cores.h); 0: what this
    // process may use, which is too few where the launcher bound each rank to its own cores.
    Waiter(int ranks_on_node, Hooks hooks, int cores = 0);
    ~Waiter();

    bool oversubscribed() const { return oversubscribed_; }
    std::string policy_text() const;

    // Returns when ready() is true.  `peer` is the member waited for, `what` names the
    // operation and algorithm for the report.  Threads may wait at one time; of these `owner` is the
    // one that does what also_check() is about.
    template <class Ready>
    void operator()(int peer, const char* what, Ready&& ready, bool owner = true) {
        if (ready()) return;
        // Many short waits are as long as a long one to who waits for a poll.
        const unsigned left = spins_left_.load(std::memory_order_relaxed), spins = std::min(spins_, left);
        for (unsigned i = 1; i <= spins; ++i) {
            pause();
            if (ready()) {
                spins_left_.store(left - i, std::memory_order_relaxed);
                return;
            }
        }
        spins_left_.store(spins_before_poll * spins_, std::memory_order_relaxed);
        State state;
        state.owner = owner;
        if (hooks_.waited) state.begun_ns = begun(spins);
        const auto soon_ready = [&] {
            for (unsigned i = 0; i < state.spins; ++i) {
                if (ready()) return true;
                pause();
            }
            return ready();
        };
        do relax(state, peer, what);
        while (!soon_ready());
        if (state.begun_ns != 0) tell(state, peer);
    }

    // The process ids of the members, for the check whether they live.  One that does not exist
    // counts as dead: give 0 for a member in another pid namespace (topology/cores.h), which is
    // then not watched.
    void watch(std::span<const pid_t> pids, int own_rank);

    // Where each member says on which core it waits: words that all map, `stride` bytes apart, the
    // first of them rank 0's.  After watch().
    void share_cores(std::uint64_t* first, std::size_t stride);

    // What an owner that waits looks at as well, as seldom as whether the members live; may throw.
    void also_check(std::function<void()> check) { also_check_ = std::move(check); }

    // Nothing can go on: hands `message` to the hook `dead`.
    [[noreturn]] void fail(const std::string& message);

private:
    struct State {
        bool owner = true;
        unsigned rounds = 0;
        unsigned spins = 0;            // before the next round
        std::int64_t started_ns = 0;   // 0: the clock has not been read yet
        std::int64_t begun_ns = 0;     // 0: nobody is told
        std::int64_t worked_ns = 0;    // when a poll last found something to do
        int polls_on = 0;              // polls that follow without a yield
        int polls_on_next = 1;         // how many, when one of these finds something too
        std::int64_t next_check_ns = 0;
        std::int64_t next_report_ns = 0;
        int ended = -1;                // a member that was found to have ended
        std::int64_t ended_ns = 0;     // when it was found
    };
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
    void relax(State&, int peer, const char* what);
    // When a wait began that has spun so often.
    std::int64_t begun(unsigned spins) const;
    void tell(const State&, int peer) const;
    bool peer_is_on_this_core(int peer);
    void check(State&, int peer, const char* what, std::int64_t now_ns);
    void report(State&, int peer, const char* what, std::int64_t now_ns);
    int find_ended(int peer) const;
    [[noreturn]] void give_up(int ended, int peer, const char* what);

    Hooks hooks_;
    std::function<void()> also_check_;
    // How many waits' spins, or yields, come before a poll; within one wait it comes earlier.
    static constexpr unsigned spins_before_poll = 16, yields_before_poll = 128;
    unsigned spins_ = 0;                     // before the first poll
    unsigned spins_between_polls_ = 0;
    unsigned yields_ahead_ = 0;              // the same for yields
    // Of several threads one may take the other's: a poll comes a little earlier or later.
    std::atomic<unsigned> spins_left_{0}, yields_left_{yields_before_poll};
    std::int64_t yield_after_ns_ = 0;
    std::int64_t sleep_after_ns_ = 0;
    bool yields_ = true;                     // ever
    bool oversubscribed_ = false;
    WaitPolicy policy_ = WaitPolicy::automatic;
    int ranks_on_node_, cores_;
    int rank_ = 0;
    std::byte* cores_of_members_ = nullptr;
    std::size_t stride_ = 0;
    std::vector<std::shared_ptr<ProcessWatch>> members_;  // this rank's is null
};

}  // namespace fanlight
