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
    // `single_copy`: whether every member may read and write every other's memory
    // (process_vm_readv, process_vm_writev);
    // the members must have agreed on it.  `segment` was zeroed when it was made; a barrier of
    // the caller's must lie between this and the first run.
    // `ranks_on_node` share `cores`, which may be more ranks than this group has (0: they are
    // this group, and the cores those of this process); the members must have agreed on both.
    // `scratch`: also mapped by all, in equal parts for each member.  With it the group runs on
    // mapped buffers and on nothing else.
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
    // For another plan that finds room, when nothing is in flight, without the first.  `connect` throws MismatchedCollectives where
    // the members have plans for different operations.
    void place(std::span<std::byte> segment, SharedSlots::Extent);
    void introduce(const Plan&);
    void connect(Plan&);
    // Whether it has the memory now.  Where members have lines for all, it can be connected again without the others.
    bool is_connected(const Plan& plan) const { return plan.placed == placed_; }
    // What it has room for; without memory for nothing.
    SharedSlots::Extent extent() const { return shared_slots_.base() ? shared_slots_.extent() : SharedSlots::Extent{-1, -1}; }
    SharedSlots layout(SharedSlots::Extent extent) const { return SharedSlots(nullptr, size_, SharedSlots::Capacity::one, extent); }

    // Runs it to its end.  `input` and `output` may be the same memory where MPI_IN_PLACE
    // means that; `combiner` is null where nothing is reduced.  Throws MismatchedCollectives.
    void run(const Plan&, const void* input, void* output, const Combiner* combiner);

    // Nothing is staged: what is longer than a cell is copied once, by loads and stores.
    void run(const Plan&, const Mapped&, const Combiner* combiner);

    // Several operations in flight at once, each advanced a little at every call: a group runs
    // either these or the ones above, and one thread at a time is in it.
    //   group.start(run, plan, input, output, combiner);  // in the same order on all members
    //   while (!run.finished) group.advance();            // all that are in flight
    // Returns without having begun; the plan and the buffers live until it is finished.
    void start(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    // False when nothing is in flight any more.  When the ranks are found to be mismatched all that
    // is in flight, and what is started later, ends so (Run::mismatched).
    bool advance();
    // Now and then: whether all call the same.
    void compare_in_flight();
    // This member can take part no more: the others find it where they wait, as above.  Throws MismatchedCollectives.
    // By the one thread that is in the group.
    [[noreturn]] void mismatched(const std::string& message) { executor_.lockstep.leave(message); }
    const std::string& why_mismatched() const { return executor_.lockstep.why(); }

    // One operation at a time, which nobody advances but the one who asks for its end: true where
    // no other member waits for anything more of this one in it (Plan::sends_complete_first, and its slot
    // is free).  Else it is as it was before start(), and adopt() makes up for the rest of that.
    bool begin(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    bool poll(Run&);    // whether it is finished now
    void finish(Run&);  // waits for that
    // One that has begun becomes one of those that advance() advances.
    void adopt(Run& run) {
        doing_ = nothing;
        runs_.push_back(&run);
    }

    Waiter& waiter() { return executor_.waiter; }

    std::uint64_t operations() const { return sequence_; }
    // Messages of this member's that others have read where they lay.
    std::uint64_t lent() const { return lent_; }

private:
    // `read_later`: set, in place of waiting for it, where others may still read what this member offered.
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
    void run_in_flight(const Plan&, const void* input, void* output, const Combiner*);
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
