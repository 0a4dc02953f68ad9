// The operations that this process has in flight, and who advances them: every thread that calls poll(), the MPI library
// from inside its own progress, and a helper thread when nobody else does.
//
// MPI promises that a non-blocking collective goes on while its rank is elsewhere, as in an MPI_Recv whose sender waits
// for that very collective.  The helper thread sleeps unless something is in flight and nobody has polled for a
// millisecond.  It only touches memory and never calls MPI, so operations with messages are left to the MPI library.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "execute/group.h"

namespace fanlight {

class OperationsInFlight {
public:
    OperationsInFlight() = default;
    ~OperationsInFlight();
    OperationsInFlight(const OperationsInFlight&) = delete;
    OperationsInFlight& operator=(const OperationsInFlight&) = delete;

    // Starts the thread if it does not run yet: before the first operation, while all ranks can still
    // agree to do without.  False: none could be had.
    bool has_helper();

    // As Group::start, and what can be done at once is done.  Group, plan and buffers live until
    // poll() has returned the run.
    void start(Group&, Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    // The same for one that Group::begin has begun.
    void adopt(Group&, Run&);

    // As Group::mismatched.
    [[noreturn]] void mismatched(Group& group, const std::string& message) {
        const Turn turn(*this);
        group.mismatched(message);
    }

    // Advances all; returns one that is finished and forgets it, or null.  Null also where
    // another thread is at it, or one of this thread's callers.
    Run* poll();
    // The same, but for the finished ones: by whom the MPI library calls from inside of its progress.
    void advance_inside();
    // Whether anything with messages may be unfinished.
    bool has_messages() const { return messages_; }

    // Whether poll(run) is true for one that poll() has not returned yet; all are asked in the
    // order of their starts, under the lock.
    template <class Poll>
    bool any_of(Poll&& poll) {
        const Turn turn(*this);
        for (Run* run : runs_)
            if (poll(*run)) return true;
        return false;
    }

private:
    // Who is at it may call MPI, whose progress comes back here.
    struct Turn {
        explicit Turn(OperationsInFlight& u) : lock(u.mutex_) { taken = true; }
        Turn(OperationsInFlight& u, std::try_to_lock_t) {
            if (taken) return;
            lock = std::unique_lock(u.mutex_, std::try_to_lock);
            taken = lock.owns_lock();
        }
        ~Turn() {
            if (lock) taken = false;
        }
        std::unique_lock<std::mutex> lock;
        static constinit thread_local bool taken [[gnu::tls_model("initial-exec")]];  // by this thread
    };

    template <class Begin>
    void take(Group&, Run&, Begin&&);
    void advance(bool messages);
    void help();

    std::mutex mutex_;
    std::vector<Run*> runs_;      // started, not yet returned by poll()
    std::vector<Group*> groups_;  // of those that are not finished
    std::atomic<std::uint64_t> polls_{0};
    std::atomic<bool> busy_{false};    // groups_ is not empty
    std::atomic<bool> messages_{false};  // nor of its groups those that have messages
    std::atomic<bool> asleep_{false}, ended_{false};
    std::thread helper_;
};

}  // namespace fanlight
