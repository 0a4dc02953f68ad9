// A group of processes on one node that run collectives together over a shared segment, with others,
// of other nodes, that messages or windows reach.
//
//   Group group(segment, rank, size, single_copy, hooks);  // every member, then a barrier of MPI's
//   const Plan plan = group.plan(algorithm, problem);      // once for each kind of call
//   group.run(plan, input, output, combiner);              // every call
//
// All members make the same calls in the same order.  A group is used by one thread at a
// time (as MPI demands of a communicator's collectives).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "execute/called.h"
#include "execute/planner.h"
#include "execute/run.h"
#include "execute/wait.h"
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
          int ranks_on_node = 0, int cores = 0, SharedLanes::Room = SharedLanes::Room::many,
          std::span<std::byte> scratch = {});
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    // The bytes of shared memory that a group of this size needs; the same on all members.
    static std::size_t segment_bytes(int size, SharedLanes::Room = SharedLanes::Room::many);

    // Runs it to its end.  `input` and `output` may be the same memory where MPI_IN_PLACE
    // means that; `combiner` is null where nothing is reduced.  Throws OutOfStep.
    void run(const Plan&, const void* input, void* output, const Combiner* combiner);

    // Nothing is staged: what is longer than a cell is copied once, by loads and stores.
    void run(const Plan&, const Mapped&, const Combiner* combiner);

    // Several operations under way at once, each advanced a little at every call: a group runs
    // either these or the ones above, and one thread at a time is in it.
    //   group.start(run, plan, input, output, combiner);  // in the same order on all members
    //   while (!run.finished) group.advance();            // all that are under way
    // Returns without having begun; the plan and the buffers live until it is finished.
    void start(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    // False when nothing is under way any more.  When the ranks are found to be out of step all that
    // is under way, and what is started later, ends so (Run::out_of_step).
    bool advance();
    // Now and then: whether all call the same.
    void compare_under_way();
    // This member can take part no more: the others find it where they wait, as above.  Throws OutOfStep.
    // By the one thread that is in the group.
    [[noreturn]] void out_of_step(const std::string& message);
    const std::string& why_out_of_step() const { return out_of_step_; }

    // One operation at a time, which nobody advances but the one who asks for its end: true where
    // no other member waits for anything more of this one in it (Plan::tells_first, and its lane
    // is free).  Else it is as it was before start(), and adopt() makes up for the rest of that.
    bool begin(Run&, const Plan&, const void* input, void* output, const Combiner* combiner);
    bool look(Run&);    // whether it is finished now
    void finish(Run&);  // waits for that
    // One that has begun becomes one of those that advance() advances.
    void adopt(Run& run) {
        doing_ = nothing;
        runs_.push_back(&run);
    }

    Waiter& waiter() { return waiter_; }

    std::uint64_t operations() const { return sequence_; }

private:
    void run_once(const BoundSchedule&, const std::byte* input, std::byte* output,
                  const Combiner*, const Plan&, const Mapped* = nullptr, std::size_t shift = 0);
    void write_down(std::uint64_t taken, std::uint64_t called);
    void compare_calls(std::uint64_t taken);
    void meet();

    // The number that an operation has when those below `taken` are others', and how many it takes.
    std::uint64_t number(const BoundSchedule& schedule, std::uint64_t taken) const {
        return schedule.wide ? (taken + lanes_.areas() - 1) / lanes_.areas() * lanes_.areas() : taken;
    }
    std::uint64_t numbers(const BoundSchedule& schedule) const { return schedule.wide ? lanes_.areas() : 1; }
    struct Frame;
    template <class Wait>
    bool lane_is_free(const BoundSchedule&, std::uint64_t taken, std::uint64_t& sequence, const Wait&);
    template <class Wait>
    bool steps(const BoundSchedule&, const Frame&, std::size_t& next, std::size_t end, const Wait&);
    template <class Wait>
    bool was_read(const BoundSchedule&, std::uint64_t sequence, const Wait&);
    bool begin_otherwise(Run&, const Plan&, const void* input, void* output, const Combiner*);
    void prepare(Run&, const Plan&, const void* input, void* output, const Combiner*);
    Run::Piece& begin_piece(Run&);
    bool has_message_slot(const Run&) const;
    void advance(Run&);
    void advance(Run&, Run::Piece&);
    void run_in_flight(const Plan&, const void* input, void* output, const Combiner*);
    template <class Wait>
    bool rest(Run&, const Wait&);
    void tell_done();
    template <class Act>
    void unless_out_of_step(Act&&);

    enum class Way { read, write };
    // Where this process reaches what the peer calls `there`, in a mapped buffer.
    std::byte* reached(const Frame&, int peer, std::uint64_t there) const;
    // `bytes` between `here` and the peer's `there`.
    void copy_once(Way, const Frame&, int peer, std::byte* here, std::uint64_t there, std::size_t bytes);
    void read_and_combine(const BoundStep&, const Frame&, std::uint64_t there, std::byte* to,
                          const std::byte* operand, std::size_t element);
    [[noreturn]] void wrong_length(int peer, bool peer_sends, std::size_t sent, std::size_t expected, const char* name,
                                   bool more_sent = false, bool more_expected = false);
    [[noreturn]] void lost(int peer, const char* name, int error);
    // A member that sent something in operation `sequence` is through with all before it.
    void note_done(int peer, std::uint64_t sequence) {
        std::uint64_t& known = known_done_[static_cast<std::size_t>(peer)];
        if (known < sequence) known = sequence;
    }

    Waiter waiter_;
    std::uint64_t sequence_ = 0;             // operations that were started
    static constexpr std::uint64_t nothing = UINT64_MAX;
    std::uint64_t doing_ = nothing;          // before the last of them, which this member waits for in place
    std::string out_of_step_;                // why none is run any more
    std::vector<std::uint64_t> known_done_;  // for each member: operations known to be over there
    std::uint64_t all_done_ = 0;             // the least of them, as last looked
    std::vector<pid_t> pids_;
    std::vector<std::uint64_t> seen_bits_;   // this rank's registers, of all lanes, as it saw them last
    std::vector<std::byte> scratch_, piece_;
    std::vector<Run*> runs_;                 // under way, in the order of their numbers
    std::uint64_t told_done_ = 0;
    std::uint64_t message_slots_ = 0;        // one for each of their pieces so far
    Run in_place_;                           // of several pieces in flight, which is waited for in place
};

}  // namespace fanlight
