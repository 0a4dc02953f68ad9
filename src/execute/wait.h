// The one wait function of the library: spin, pause, yield, sleep.
//
// How long each stage lasts follows from the cores that this process may really use, shared
// among the ranks of the node: an oversubscribed rank must not spin.  Now and then a waiting
// rank lets MPI make progress (it may owe its peer the other half of a large send), looks
// whether the peers that it waits for are alive, and reports after a while who waits for whom.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fanlight {

class ProcessWatch;

enum class WaitPolicy { automatic, spin, yield, sleep };

class Waiter {
public:
    struct Hooks {
        // Lets the MPI library progress; may be empty.
        std::function<void()> progress;
        // A member died: must not return (the preload aborts the job).  Empty: message, abort().
        std::function<void(const std::string& message)> dead;
        // A line for the user; empty: standard error.
        std::function<void(const std::string& message)> say;
    };

    // cores: what all ranks of the node may use together (topology/cores.h); 0: what this
    // process may use, which is too few where the launcher bound each rank to its own cores.
    Waiter(int ranks_on_node, Hooks hooks, int cores = 0);
    ~Waiter();

    bool oversubscribed() const { return oversubscribed_; }
    std::string policy_text() const;

    // Returns when ready() is true.  `peer` is the member waited for, `what` names the
    // operation and algorithm for the report.
    template <class Ready>
    void operator()(int peer, const char* what, Ready&& ready) {
        for (unsigned i = 0; i < spins_; ++i) {
            if (ready()) return;
            pause();
        }
        if (ready()) return;
        State state;
        state.yields = yields_ && yield_after_ns_ == 0;
        do {
            relax(state, peer, what);
        } while (!ready());
    }

    // The process ids of the members, for the check whether they live.  One that does not exist
    // counts as dead: give 0 for a member in another pid namespace (topology/cores.h), which is
    // then not watched.
    void watch(std::span<const pid_t> pids, int own_rank);

    // What the owner looks at as well, as seldom as whether the members live; may throw.
    void also_look(std::function<void()> look) { also_look_ = std::move(look); }

    // Nothing can go on: hands `message` to the hook `dead`.
    [[noreturn]] void fail(const std::string& message);

private:
    struct State {
        unsigned rounds = 0;
        bool yields = false;           // further than spinning
        std::int64_t started_ns = 0;   // 0: the clock has not been looked at yet
        std::int64_t sleep_ns = 0;     // 0: not that far yet
        std::int64_t next_progress_ns = 0;
        std::int64_t next_look_ns = 0;
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
    void look(State&, int peer, const char* what, std::int64_t now_ns);
    void report(State&, int peer, const char* what, std::int64_t now_ns);
    int find_ended(int peer) const;
    [[noreturn]] void give_up(int ended, int peer, const char* what);

    Hooks hooks_;
    std::function<void()> also_look_;
    unsigned spins_ = 0;
    unsigned rounds_per_look_ = 1;           // the clock is looked at every so many rounds
    std::int64_t progress_every_ns_ = 0;
    std::int64_t yield_after_ns_ = 0;
    std::int64_t sleep_after_ns_ = 0;
    bool yields_ = true;                     // ever
    bool oversubscribed_ = false;
    WaitPolicy policy_ = WaitPolicy::automatic;
    int ranks_on_node_, cores_;
    int rank_ = 0;
    std::vector<std::shared_ptr<ProcessWatch>> members_;  // the own rank's is null
};

}  // namespace fanlight
