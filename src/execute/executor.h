// Runs the steps of bound schedules (steps.h): over the cells and staging of a group's members, by copies between their
// processes, and by messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/copy.h"
#include "execute/lockstep.h"
#include "execute/peer_memory.h"
#include "execute/plan.h"
#include "execute/run.h"
#include "execute/wait.h"
#include "transport/remote.h"
#include "transport/shared.h"

namespace fanlight {

class Executor {
public:
    // `mapped_scratch`: mapped by all, in equal parts for each member.
    Executor(const SharedSlots&, int rank, int size, Waiter::Hooks, int ranks_on_node, int cores, std::span<std::byte> mapped_scratch);
    // The group has memory from now on, in which nothing has run yet.
    void enter();
    // Before the first operation, when all members are there.
    void meet();

    // Where one operation works.
    struct Frame;
    // And the areas in which it stages.
    template <class Wait>
    bool slot_is_free(const BoundSchedule&, std::uint64_t sequence, Cursor&, const Wait&);
    template <class Wait>
    bool steps(const BoundSchedule&, const Frame&, Cursor&, std::size_t end, const Wait&);
    template <class Wait>
    bool was_read(const BoundSchedule&, std::uint64_t sequence, bool lends, const Wait&);
    // This member is through with all operations below this number.
    void publish_done(std::uint64_t done) const { store(shared_slots_.member(rank_).done, done); }

    Waiter waiter;
    Lockstep lockstep;

private:
    using Way = PeerMemory::Way;
    // Of the steps that follow this one.
    static void load_flags(const BoundStep* gather, const std::byte* slot);
    // Where this process reaches what the peer calls `there`; null: nowhere.
    std::byte* reached(const Frame&, int peer, std::uint64_t there, std::size_t bytes);
    // What is short stays in the first areas: of the later ones, which lie a power of two apart, a cache holds few lines.
    bool uses_later_areas(const BoundSchedule& schedule, const Cursor& cursor) const {
        return has_later_areas_ && !cursor.in_few_places && !schedule.stages_at_reader && schedule.staged >= SharedSlots::goes_round_from;
    }
    // Operations that must be over before these areas may be used again.
    std::uint64_t last_use(const SharedSlots::Areas& areas) const {
        return *std::max_element(used_.begin() + static_cast<std::ptrdiff_t>(areas.first), used_.begin() + static_cast<std::ptrdiff_t>(areas.first + areas.count));
    }
    void take(const SharedSlots::Areas& areas, std::uint64_t sequence) {
        for (std::uint64_t i = 0; i < areas.count; ++i) used_[areas.first + i] = sequence + 1, filled_[areas.first + i] = SIZE_MAX;
    }
    // Where in an area `bytes` lie behind what the operations before have staged there.  Null: there is no room left, or all others
    // are known to have finished those operations, as where all wait for all.
    std::byte* behind_others(std::uint64_t area, std::size_t bytes) const;
    // Without waiting, areas beside those that the operation has.
    bool takes_more(const SharedSlots::Areas&, std::uint64_t sequence);
    // Where this rank stages the step's message.
    std::byte* staging(const BoundSchedule&, std::uint64_t sequence, const Cursor&, const BoundStep&);
    // Copies the message of the cursor's step there, and may take the next step along, if it is a copy and before the end.  What is
    // long and followed by one reader: says so before it is all there, and true.
    bool stage(PeersCache&, const BoundSchedule&, const Frame&, Cursor&, std::size_t end, Cell&, std::byte* staged);
    template <class Wait, class Take>
    bool take_as_it_comes(const BoundStep&, const BoundSchedule&, const Cell&, const std::byte* from, const Wait&, const Take&);
    // `bytes` between `here` and the peer's `there`.
    void copy_once(Way, const Frame&, int peer, std::byte* here, std::uint64_t there, std::size_t bytes);
    void read_at_owner(const BoundStep&, const Frame&, std::uint64_t there, std::byte* to, const std::byte* operand, const BoundSchedule&);
    // For long messages only, and not inlined, so that short ones stay fast.  lend(): false: stage it.
    [[gnu::noinline]] bool lend(const BoundStep&, const Frame&, std::span<const int> readers, Cell&);
    // Takes what a put lent; false: it is staged.
    [[gnu::noinline]] bool take_lent(const BoundStep&, const Frame&, std::uint64_t flag, std::uint64_t where, std::byte* to, const BoundSchedule&);
    [[noreturn]] void lost(int peer, const char* name, int error);
    // A member that sent something in operation `sequence` is through with all before it.
    void note_done(int peer, std::uint64_t sequence) {
        std::uint64_t& known = known_done_[static_cast<std::size_t>(peer)];
        if (known < sequence) known = sequence;
    }

    const SharedSlots& shared_slots_;
    const int rank_, size_;
    const std::span<std::byte> mapped_scratch_;
    std::vector<std::uint64_t> known_done_;  // for each member: operations known to be over there
    std::uint64_t all_done_ = 0;             // the least of them, as last looked
    PeerMemory memory_;
    std::vector<std::uint64_t> seen_bits_;   // this rank's registers, of all slots, as it saw them last
    std::vector<std::byte> piece_;
    std::vector<PeersCache> caches_;  // each peer's
    // That of all who read what this rank offers: what memcpy copies there, and what is combined.
    PeersCache readers_cache_, readers_sums_;
    std::size_t long_staged_ = 0;  // so many messages
    bool has_later_areas_ = false;
    // The operation that last staged in each of this rank's areas, and one.
    std::vector<std::uint64_t> used_;
    // Where ranks share cores, operations stage one behind the other in an area, so that this rank goes further ahead of those
    // that read.  How far each area is filled like that.
    std::vector<std::size_t> filled_;  // SIZE_MAX: nothing may follow
    bool fills_areas_ = false;
    std::uint64_t in_many_ = 0;   // the last one in which a rank may have staged in more than one, and one
    // The operations before `next_` have their slots, and of those from there on the ones in `begun_`.
    std::uint64_t next_ = 0, begun_ = 0;
    std::uint64_t put_ahead_ = 0;    // so many puts of long rows
};

}  // namespace fanlight
