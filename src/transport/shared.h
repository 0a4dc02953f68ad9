// The shared transport: flags, inline payloads and staging in memory that all members map.
//
// Operation number s of a group uses slot s mod slots(); each slot has its own cells:
//
//   line (from, to)          what one rank writes for another:
//     put cells              the j-th put; j mod depth() picks the cell
//     channel                for the writer of puts to this rank: how many it has taken (only if the writer must
//                            know), and where long ones may be written
//   offer cell (rank, k)     the k-th offer of a rank in an operation, read by many
//   register (rank)          one bit for each rank, which that rank toggles to signal this one; the reader
//                            remembers their last values
//   called (rank)            what it calls in the last operations, for ranks that wait in vain
//   opened (rank)            one bit for each rank: it can load from that one's arena (memory/arena.h)
//   staging (rank)           payloads that are too long for a cell.  There are fewer areas than slots: each rank takes
//                            its own in turn, in one operation as many as it needs, and says in the cell where a payload
//                            lies.  A rank that stages much takes more areas (later_areas)
//
// Each rank owns a part of the segment, on pages of its own, and reserves it itself: the lines that it reads, and its
// offers, register and staging.  The lines grow with the square of the ranks; with many ranks a line is one cache line for
// each slot.  A segment for a single plan has lines only for pairs that exchange puts in it: each rank writes into its
// part which line is whose (line_owner), and the others look there.
//
// A cell's flag only grows, has one writer and is written last, but for Cell::there.  Nothing is ever reset: flags contain
// the operation's number.  A slot is used again when every member is known to have read all that it wanted of the slot's previous
// operation; `done` (one line per member) says so.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/arena.h"

namespace fanlight {

// Where a cell's payload is.
enum class Place : std::uint64_t {
    inlined,  // in the cell itself
    staged,   // in the segment: `where` is the distance from its start
    direct,   // in private memory.  Offer: `where` is the address at its owner.  Put: the writer
              // has written it into the reader's memory, or the reader reads it (see Channel)
    part,     // staged, and there is more of it in the next message
};

// How long a payload in the cell itself may be is the group's (SharedSlots::payload_bytes).
struct alignas(16) Cell {
    std::uint64_t flag;
    // Offer: minus the offset of the message's first byte in its buffer, so that a reader adds the
    // offset that its own step names.  Put: with its length (where_and_bytes), if not `direct`.
    std::uint64_t where;
    // payload_bytes() of them follow.  Of what is still being staged: up to where, from the segment's start, it is there.
    std::uint64_t& there() { return reinterpret_cast<std::uint64_t&>(*payload()); }
    const std::uint64_t& there() const { return reinterpret_cast<const std::uint64_t&>(*payload()); }
    std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* payload() const { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(Cell) == 16);

inline std::uint64_t load(const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
inline void toggle(std::uint64_t& word, std::uint64_t bit) {
    std::atomic_ref(word).fetch_xor(bit, std::memory_order_release);
}
inline void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
}

// A long put goes from private memory to private memory.  At the start of the round the reader
// posts the address at which it wants it, and the writer writes it there; or it posts none,
// since it combines what comes, and reads from the address that the cell then names.  Its
// acknowledgement ends the writer's round in both cases.
struct alignas(16) Channel {
    struct Post {
        std::uint64_t flag;
        std::uint64_t address;
        std::uint64_t bytes;
    };
    std::uint64_t taken;
    // posts() of them follow.
    Post& post(std::uint64_t i) { return reinterpret_cast<Post*>(&taken + 1)[i]; }
    const Post& post(std::uint64_t i) const { return reinterpret_cast<const Post*>(&taken + 1)[i]; }
};

// A put's place in the segment and its length, which is less than 2^20 there; of what is lent, a distance, which may be
// negative.
constexpr int where_bits = 44;
constexpr std::size_t longest_staged_put = (std::size_t{1} << (64 - where_bits)) - 1;
inline std::uint64_t where_of(std::uint64_t word) { return word & ((std::uint64_t{1} << where_bits) - 1); }
inline std::uint64_t where_and_bytes(std::uint64_t where, std::size_t bytes) { return where_of(where) | bytes << where_bits; }
inline std::int64_t distance_of(std::uint64_t word) { return static_cast<std::int64_t>(word << (64 - where_bits)) >> (64 - where_bits); }
inline std::size_t bytes_of(std::uint64_t word) { return word >> where_bits; }

// A flag names the operation, the message in it, and where the payload is.  The message's tag is
// the last bits of its number and, over them, bits of what its operation is (execute/called.h):
// a cell's message is never looked for before the one that the cell had before was taken, so that
// those two must differ and no others.
constexpr int tag_bits = 18;
inline std::uint32_t message_tag(std::uint32_t number, std::uint64_t called) {
    constexpr std::uint32_t last = (1u << tag_bits) - 1;
    return (number & last) ^ static_cast<std::uint32_t>(called * 0x9E3779B97F4A7C15u >> (64 - tag_bits));
}
// What a channel counts: the messages that were taken in this operation and, with the numbers of the slot's earlier
// operations, in those.
constexpr int message_bits = 20;
inline std::uint64_t messages_taken(std::uint64_t sequence, std::uint64_t messages) { return (sequence << message_bits) + messages; }
// Lent: it would be staged, but its owner has it where the others can load from (execute/peer_memory.h).  `where` is the address there;
// put: the distance from the arena's start, with the length.  Of a `direct` put: its writer waits for a post; `where` has the length.
enum class Lent : std::uint64_t { no, yes };
// Whether it is still being staged when its flag is written: its one reader follows (Cell::there).
enum class Grows : std::uint64_t { no, yes };
inline std::uint64_t flag_of(std::uint64_t sequence, std::uint32_t tag, Place place, Lent lent = Lent::no, Grows grows = Grows::no) {
    return ((sequence + 1) << tag_bits | tag) << 4 | static_cast<std::uint64_t>(grows) << 3 | static_cast<std::uint64_t>(lent) << 2 | static_cast<std::uint64_t>(place);
}
inline bool flag_has_tag(std::uint64_t flag, std::uint64_t sequence, std::uint32_t tag) {
    return flag >> 4 == ((sequence + 1) << tag_bits | tag);
}
inline bool grows(std::uint64_t flag) { return (flag & 8) != 0; }
inline Place place_of(std::uint64_t flag) { return static_cast<Place>(flag & 3); }
inline bool is_lent(std::uint64_t flag) { return (flag & 4) != 0; }
// Of an offer: direct or lent.
inline bool is_read_at_owner(std::uint64_t flag) { return (flag & 6) != 0; }

// The layout of a group's segment; all distances are in bytes.
class SharedSlots {
public:
    static constexpr int offers_per_operation = 8;
    static constexpr std::size_t goes_round_from = 4 * 1024;  // bytes that are staged: shorter ones gain nothing

    // How many operations may be in flight: `one` after the other, but for the pieces of a long
    // message (a persistent operation's own segment), or `many`.
    enum class Capacity { many, one };
    // What operations use of a rank's part, at most: all there can be, or what a plan does (extent_of).
    struct Extent {
        int peers = std::numeric_limits<int>::max();  // with lines
        int offers = offers_per_operation;
        bool holds(const Extent& other) const { return peers >= other.peers && offers >= other.offers; }
    };
    SharedSlots(std::byte* base, int size, Capacity = Capacity::many);
    SharedSlots(std::byte* base, int size, Capacity, Extent);
    std::size_t bytes() const { return size_ * part_bytes_; }
    static std::size_t bytes(int size, Capacity room = Capacity::many) { return SharedSlots(nullptr, size, room).bytes(); }

    std::uint64_t slots() const { return shared_slots_; }
    // More of them behind what is reserved from the start, for ranks that share cores: who waits for no one goes further ahead, and
    // fewer waits are fewer switches of contexts.  Before the first operation, when all have reserved theirs.
    std::span<std::byte> more_slots(int rank) const { return {part(rank) + reserved_bytes_, more_slots_bytes()}; }
    std::size_t more_slots_bytes() const { return first_later_area_ - reserved_bytes_; }
    void take_more_slots() { shared_slots_ = most_slots_; }
    std::uint64_t areas() const { return areas_; }
    int depth() const { return depth_; }
    std::uint64_t posts() const { return posts_; }                // to one writer at one time
    std::size_t payload_bytes() const { return payload_bytes_; }  // in a cell
    std::size_t staging_bytes() const { return staging_bytes_; }  // of one area
    // A rank's own part: whole pages, the parts of all one behind the other.
    std::size_t part_bytes() const { return part_bytes_; }
    std::size_t reserved_bytes() const { return reserved_bytes_; }  // of it from the start

    std::byte* base() const { return base_; }
    Extent extent() const { return {static_cast<int>(lines_), offers_per_rank_}; }
    // What a cell's distance is added to.
    std::byte* slot(std::uint64_t sequence) const { return base_ + (sequence & (shared_slots_ - 1)) * slot_bytes_; }
    std::size_t offer_cell(int rank, int k) const { return slot_of_rank(rank) + offers_ + static_cast<std::size_t>(k) * offer_bytes_; }
    std::size_t put_cell(int from, int to, std::size_t j) const {
        return line(from, to) + j % static_cast<std::size_t>(depth_) * cell_bytes_;
    }
    // Written by the reader.
    std::size_t channel(int reader, int writer) const { return line(reader, writer) + static_cast<std::size_t>(depth_) * cell_bytes_; }

    // The word of a rank's register that has the bit of rank `of`.
    std::size_t register_word(int rank, int of) const {
        return slot_of_rank(rank) + registers_ + static_cast<std::size_t>(of) / 64 * sizeof(std::uint64_t);
    }
    std::size_t register_words() const { return register_bytes_ / sizeof(std::uint64_t); }

    // More areas, where there are few ranks, which a rank takes instead when it has staged much that is long.
    std::uint64_t later_areas() const { return later_areas_; }
    std::span<std::byte> later_staging(int rank) const { return {part(rank) + first_later_area_, later_areas_ * staging_bytes_}; }
    // Of a rank, the first ones and then the later ones; each kind lies one behind the other.
    std::byte* area(int rank, std::uint64_t i) const {
        return (i < areas_ ? first_area(rank) : part(rank) + first_later_area_ - areas_ * staging_bytes_) + i * staging_bytes_;
    }
    // So many in a row, and where in them a rank stages.
    struct Areas {
        std::uint64_t first = 0, count = 0;
        std::byte* at = nullptr;
    };
    // For `bytes`, in each turn the next ones.  What is long goes to another place each time that it comes to the same area.
    // The longer ago a place was read, the less of it is still in its reader's own cache, from where a store would have to take
    // it line by line.  Two places of one length lie apart or are the same.  `in_few_places`: each area has one.
    Areas staging(std::uint64_t turn, int rank, std::size_t bytes, bool later, bool in_few_places = false) const {
        const std::uint64_t before = later ? areas_ : 0, all = later ? later_areas_ : areas_;
        if (bytes < goes_round_from) return {before + (turn & (all - 1)), 1, area(rank, before + (turn & (all - 1)))};
        const std::uint64_t count = (bytes - 1) / staging_bytes_ + 1, rows = all / count, first = before + turn % rows * count;
        return {first, count, area(rank, first) + (in_few_places ? 0 : turn / rows % (count * staging_bytes_ / bytes) * bytes)};
    }

    // One line for each member.
    struct alignas(128) Member {
        std::uint64_t done;  // operations in which it has read all that it wanted
        std::uint64_t pid;
        std::uint64_t core;  // on which it last waited for long, and one (Waiter::share_cores)
        std::uint64_t mismatched;  // it has found that they call different things, and goes no further
        std::uint64_t pid_namespace;  // in which `pid` means it; written before `pid`
        std::uint64_t left;  // operations that it could not begin (Group::all_leave)
        // In a cache line that nobody writes to any more: from when it first lends something, `pid` written last.
        alignas(64) ArenaName arena;
    };
    Member& member(int rank) const { return *reinterpret_cast<Member*>(part(rank)); }

    // The word of a rank's `opened` that has the bit of rank `of`.
    std::uint64_t& opened(int rank, int of) const {
        return reinterpret_cast<std::uint64_t*>(part(rank) + opened_)[static_cast<std::size_t>(of) / 64];
    }

    // What a rank calls when `taken` operations are behind it; of each slot the last one.
    struct Called {
        std::uint64_t taken;  // and one: none yet
        std::uint64_t what;
    };
    Called& called(int rank, std::uint64_t taken) const {
        return reinterpret_cast<Called*>(part(rank) + sizeof(Member))[taken & (shared_slots_ - 1)];
    }

    // Where ranks have lines for some peers alone: whose line k of this rank is, and one; 0: nobody's.
    std::uint32_t& line_owner(int rank, std::size_t k) const {
        return reinterpret_cast<std::uint32_t*>(part(rank) + sizeof(Member) + most_slots_ * sizeof(Called))[k];
    }
    bool has_all_lines() const { return lines_ == size_; }
    // Of which peers' lines a rank knows: those in its own part, and its own in theirs.
    struct Lines {
        std::vector<int> here, there;
    };
    // When all have written whose their lines are.
    void find_lines(int rank, const Lines&);

private:
    // Between the parts of two ranks, so that the same place of all of them does not fall into the same set of a cache.
    static constexpr std::size_t skew = 128;

    std::byte* part(int rank) const { return base_ + static_cast<std::size_t>(rank) * part_bytes_; }
    std::byte* first_area(int rank) const { return part(rank) + first_area_ + (static_cast<std::size_t>(rank) & (skews_ - 1)) * area_skew_; }
    // Slot 0 of this rank.
    std::size_t slot_of_rank(int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return r * part_bytes_ + first_slot_ + (r & (skews_ - 1)) * skew;
    }
    std::size_t line(int from, int to) const {
        std::size_t k = static_cast<std::size_t>(from);
        if (!here_.empty()) k = to == rank_ ? here_[static_cast<std::size_t>(from)] : there_[static_cast<std::size_t>(to)];
        return slot_of_rank(to) + k * line_bytes_;
    }

    std::byte* base_;
    std::size_t size_, lines_;
    std::uint64_t shared_slots_, most_slots_, areas_, later_areas_, posts_;
    int depth_, offers_per_rank_;
    std::size_t skews_, area_skew_;  // a power of two; and between the areas of two ranks
    // By peer: whose line is which in this rank's part, and this rank's in theirs; empty: each has that of its own number.
    int rank_ = 0;
    std::vector<std::uint32_t> here_, there_;
    std::size_t payload_bytes_, cell_bytes_, offer_bytes_, line_bytes_, staging_bytes_, offers_, registers_, register_bytes_, slot_bytes_, opened_, first_area_, first_slot_,
        reserved_bytes_, first_later_area_, part_bytes_;
};

}  // namespace fanlight
