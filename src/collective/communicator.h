// What Fanlight knows of each communicator: how many calls it has seen, and its group once it is worth one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/dying.h"
#include "collective/mpi_header.h"
#include "collective/progress.h"
#include "collective/reason.h"
#include "collective/transports.h"

namespace fanlight {

struct Decision;
class Selector;
class CommunicatorContext;
struct TunedRules;

class Communicator {
public:
    // `starts`: it was first seen in a non-blocking call.
    Communicator(MPI_Comm, Reason permanent, int rank, int size, bool starts);
    ~Communicator();

    // Null while the MPI library serves this communicator; `reason` says why.  To be called
    // once at every collective call: on the same call of all ranks it becomes a group.
    CommunicatorContext* context(Reason& reason) {
        if (ready_) [[likely]] {
            if (++served_ % served_per_progress == 0) [[unlikely]] progress();
            return ready_;
        }
        return count(reason);
    }
    // The same for a non-blocking call.  Its group is not made here, since its members may come
    // at any time, and wait for each other elsewhere; but in the next blocking call.
    std::shared_ptr<CommunicatorContext> starting(Reason& reason);
    // A group for one persistent operation alone.  Here ranks may wait for each other.
    std::shared_ptr<CommunicatorContext> initializing(Reason& reason);
    // ... and its memory, when it is known which one; false: the MPI library serves it.
    bool give_memory(CommunicatorContext&, const Decision&, Reason& reason);
    // By all ranks together: makes the groups for both now, also with processes of another job.
    void prepare();
    // By all ranks between two calls: by this selector from now on.
    void decide_by(std::shared_ptr<const Selector>);
    // By all ranks together: these algorithms (fanlight_set_algorithm), then the rules.  Throws std::invalid_argument.
    std::shared_ptr<const Selector> selector_with(const std::string& chosen);
    // Null while the MPI library serves it.
    const CommunicatorContext* context() const { return context_.get(); }
    MPI_Comm handle() const { return handle_; }
    Reason reason() const { return reason_; }
    int size() const { return size_; }
    bool served() const { return context_ != nullptr; }
    bool starts_with(const CommunicatorContext& s) const { return starting_.get() == &s; }
    // Random, the same on all its ranks.
    std::uint64_t number() const { return number_; }
    void end_context();

private:
    // A rank whose calls never wait long must let the MPI library progress nevertheless: another
    // one may wait for it inside of MPI.
    static constexpr std::uint32_t served_per_progress = 256;

    CommunicatorContext* count(Reason&);
    void agree(bool all_have_it = false);
    TunedRules tuned() const;
    template <class Pointer>
    Pointer by_selector(Pointer) const;
    void count_call();
    std::uint64_t free_on_all_ranks() const;

    MPI_Comm handle_;
    int rank_, size_;
    std::uint32_t served_ = 0;
    std::uint64_t number_ = 0;
    Reason reason_;
    std::int64_t calls_left_, starts_left_;
    bool agreed_;                         // on the settings; or there is nothing to agree on
    std::shared_ptr<const Selector> selector_;  // null: the rules
    std::shared_ptr<const TunedRules> tuned_;   // null: none, or not agreed on yet
    std::unique_ptr<CommunicatorContext> context_;
    std::shared_ptr<CommunicatorContext> starting_;  // also of the operations that outlive the communicator
    // Those of persistent operations, for the next ones: to make one takes a millisecond.
    std::vector<std::shared_ptr<CommunicatorContext>> initialized_;
    int next_slot_ = first_slot_of_persistent;
    Reason why_not_starting_ = Reason::not_started;
    // What serves the next blocking call at once: context_, or null.
    CommunicatorContext* ready_ = nullptr;
};

// --- from handle to communicator ----------------------------------------------------------

namespace communicators {

// Grows with each communicator that is freed, whose handle may come again.
extern std::atomic<std::uint64_t> generation;
// Whether communicators are looked at: not after MPI_Finalize.  With FANLIGHT=0 as well, since other
// ranks may not have that.
extern std::atomic<bool> open;
// MPI_Finalize was called.
extern std::atomic<bool> ended;

// How many sessions are open.  A communicator that is not MPI_COMM_WORLD may then be of one, and MPI forbids to pass objects
// of both to one call: none can be compared with MPI_COMM_WORLD meanwhile.
extern std::atomic<int> sessions;

// Between MPI_Init and MPI_Finalize: not in a program of sessions alone.
bool world_is_there();
// Whether `comm` has processes of another job (MPI_Comm_spawn, MPI_Comm_connect), which may not have loaded Fanlight.  All
// ranks know it without asking, since each one's MPI_COMM_WORLD lacks some of them.
// Not with sessions.
bool has_another_job(MPI_Comm);
bool may_be_of_a_session(MPI_Comm);

struct Last {
    MPI_Comm handle{};
    std::uint64_t generation = 0;
    Communicator* communicator = nullptr;
};
extern constinit thread_local Last last;

Communicator* look_up(MPI_Comm);

// Null when it was not seen before.
inline Communicator* find(MPI_Comm comm) {
    if (last.communicator && last.handle == comm &&
        last.generation == generation.load(std::memory_order_acquire)) [[likely]]
        return last.communicator;
    return look_up(comm);
}

// The MPI library has had a call on it, with this result.  The call counts where it is an error as well,
// since other ranks may have had none: unless the handle itself is what is wrong.
void first_seen(MPI_Comm, bool starts, int error);

// While the program frees one.  Nothing is known of it any more: its delete functions may use it, and on each rank in another
// order.
class Freeing {
public:
    explicit Freeing(MPI_Comm);

private:
    Dying<MPI_Comm> dying_;
};

// At MPI_Finalize: all groups end, and no new ones begin.
void close();

}  // namespace communicators

}  // namespace fanlight
