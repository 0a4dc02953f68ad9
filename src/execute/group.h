// The processes of one node that run collectives together over a shared segment.  Messages or windows reach the ranks of
// other nodes.
//
//   Group group(segment, rank, size, single_copy, hooks);  // every member, then a barrier of MPI's
//   const Plan plan = group.plan(algorithm, problem);      // once for each kind of call
//   group.run(plan, input, output, combiner);              // every call
//
// All members make the same calls in the same order.  One thread at a time uses a group (as MPI demands of a
// communicator's collectives).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execute/executor.h"
#include "execute/planner.h"
#include "execute/run.h"
#include "schedule/problem.h"
#include "transport/remote.h"
#include "transport/shared.h"

namespace fanlight {

class Group : public Planner {
public:
    // `segment`: zeroed when it was made; the caller's barrier must lie between this and the first run.
    // `single_copy`: whether every member may read and write every other's memory (process_vm_readv, process_vm_writev).
    // `ranks_on_node`, which may be more than this group's, share `cores` (0: this group, and the cores of this process).
    // The members must have agreed on these three.
    // `scratch`: mapped by all, in equal parts for each member.  With it the group runs only on mapped buffers.
    Group(std::span<std::byte> segment, int rank, int size, bool single_copy, Waiter::Hooks hooks,
          int ranks_on_node = 0, int cores = 0, SharedSlots::Capacity = SharedSlots::Capacity::many,
          std::span<std::byte> scratch = {});
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    // The bytes of shared memory that a group of this size needs; the same on all members.
    static std::size_t segment_bytes(int size, SharedSlots::Capacity = SharedSlots::Capacity::many);

    // A group whose segment is empty makes plans, and gets memory for one of them (Capacity::one):
    //   group.place(segment, extent);  // zeroed; as much as the members' plans use at most (extent_of)
    //   group.introduce(plan);         // then a barrier of the caller's
    //   group.connect(plan);
    // For another plan that fits, when nothing is in flight, the first call is not needed.  `connect` throws
    // MismatchedCollectives if the members have plans for different operations.
    void place(std::span<std::byte> segment, SharedSlots::Extent);
    // Where members share cores, before the first operation: whether this one has reserved its part of more slots, which all take
    // if all have.
    bool reserve_more_slots();
    void take_more_slots();
    std::size_t more_slots_bytes() const { return static_cast<std::size_t>(size_) * shared_slots_.more_slots_bytes(); }  // of all
    void introduce(const Plan&);
    void connect(Plan&);
    // Whether the plan has the memory now.  If members have lines for all, it can be connected again without the others.
    bool is_connected(const Plan& plan) const { return plan.placed == placed_; }
    // What its memory has room for; nothing, if it has none.
    SharedSlots::Extent extent() const { return shared_slots_.base() ? shared_slots_.extent() : SharedSlots::Extent{-1, -1}; }
    SharedSlots layout(SharedSlots::Extent extent) const { return SharedSlots(nullptr, size_, SharedSlots::Capacity::one, extent); }

    // Runs a plan to its end.  `input` and `output` may be the same memory if MPI_IN_PLACE means that; `combiner` is null
    // if nothing is reduced.  Throws MismatchedCollectives.
    void run(const Plan&, const void* input, void* output, const Combiner* combiner);

    // Nothing is staged: what is longer than a cell is copied once, by loads and stores.
    void run(const Plan&, const Mapped&, const Combiner* combiner);

    // Several operations in flight at once, each advanced incrementally by every call.  A group runs either these or the
    // ones above, and one thread at a time is in it.
    //   group.start(run, plan, input, output, combiner);  // in the same order on all members
    //   while (!run.finished) group.advance();            // all that are in flight
    // start() only registers the operation; the plan and the buffers must live until it is finished.
    void start(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    // False when nothing is in flight any more.  If the ranks' calls do not match, all operations in flight, and all that
    // are started later, end with Run::mismatched.
    bool advance();
    // To be called now and then: compares what the ranks call.
    void compare_in_flight();
    // This member takes part no more, and the others find that out while they wait, as above.  Throws
    // MismatchedCollectives.  For the one thread that is in the group.
    [[noreturn]] void mismatched(const std::string& message) { executor_.lockstep.leave(message); }
    const std::string& why_mismatched() const { return executor_.lockstep.why(); }

    // One operation at a time, which only the caller that asks for its end advances.  True if no other member waits for
    // anything more of this one in it (Plan::sends_complete_first, and its slot is free).  Else adopt() must follow, which
    // does the rest of start().
    bool begin(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    bool poll(Run&);    // whether it is finished now
    void finish(Run&);  // waits for that
    // From now on advance() advances it with the others.
    void adopt(Run& run) {
        doing_ = nothing;
        runs_.push_back(&run);
    }

    Waiter& waiter() { return executor_.waiter; }

    std::uint64_t operations() const { return sequence_; }
    // Messages of this member that others have read in place.
    std::uint64_t lent() const { return lent_; }

    // Whether no member can begin the next operation, as this one cannot: waits until all have said so, or one has begun it.
    bool all_leave(std::string_view name);

private:
    // `read_later`: set if others may still read what this member offered, instead of waiting for them.
    void run_once(const BoundSchedule&, const std::byte* input, std::byte* output, const Combiner*, const Plan&, bool* read_later = nullptr,
                  const Mapped* = nullptr, std::size_t shift = 0);
    // Of the last operation.
    void wait_for_readers(const BoundSchedule&, const Plan&, bool lends);
    // Before an operation by start() or begin().
    void enter(const Plan&);
    void prepare(Run&, const Plan&, const void* input, void* output, const Combiner*);
    Run::Piece& begin_piece(Run&);
    bool has_message_slot(const Run&) const;
    void advance(Run&);
    void advance(Run&, Run::Piece&);
    void run_in_parts(const Plan&, const void* input, void* output, const Combiner*);
    void run_in_flight(const Plan&, const void* input, void* output, const Combiner*);
    // What this member cannot do (memory is used up, for one) ends the operation on all of them.
    template <class Act>
    void or_leave(Act&& act) {
        try {
            act();
        } catch (const MismatchedCollectives&) {
            throw;
        } catch (const std::exception& e) {
            executor_.lockstep.leave("rank " + std::to_string(rank_) + " cannot go on: " + e.what());
        }
    }
    template <class Wait>
    bool rest(Run&, const Wait&);
    void publish_done();
    void count_lent(const Cursor& cursor) {
        if (cursor.lent == 0) [[likely]] return;
        lent_ += cursor.lent;
        messages_lent.fetch_add(cursor.lent, std::memory_order_relaxed);
    }
    template <class Act>
    void unless_mismatched(Act&&);

    Executor executor_;
    std::uint64_t sequence_ = 0;             // operations that were started
    static constexpr std::uint64_t nothing = UINT64_MAX;
    std::uint64_t doing_ = nothing;          // before the last of them, which this member waits for in place
    std::vector<std::byte> scratch_;
    std::vector<Run*> runs_;                 // in flight, in the order of their numbers
    std::uint64_t published_done_ = 0;
    std::uint64_t lent_ = 0;
    std::uint64_t message_slots_ = 0;        // one for each of their pieces so far
    Run in_place_;                           // of several pieces in flight, which is waited for in place
};

}  // namespace fanlight
