// allgatherv_any over a group: everybody's block to everybody, its length known to its owner alone.
//
//   UnknownLengths any(group, *find_algorithm(Operation::allgatherv_any, "all-read-all"));  // once
//   any.exchange(block, bytes);        // all members; then all know lengths() and total()
//   if (any.complete()) any.take(output);
//   else any.take(nullptr);            // and an allgatherv of lengths() brings the data
//
// The algorithm's schedule counts in blocks: it is that of blocks of one byte, since nobody knows
// more when it is made.  A message says how long its blocks are: of a single one in the cell, beside
// the flag, so that of a block of no bytes nothing but the flag is written; of several in front of
// their bytes, as one bit for each block that is not empty and the lengths of these.
//
// What comes stays where it lies, in cells and staging, until all lengths and with them all places
// in the output are known.  Staging is bounded: of a block longer than longest() the length
// alone travels, and then nobody has it complete().  All members decide alike: by the lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "execute/group.h"
#include "execute/plan.h"

namespace fanlight {

class UnknownLengths {
public:
    // The group must outlive it.  Throws std::invalid_argument, on all members alike, where so many
    // ranks find no room.
    UnknownLengths(Group&, const Algorithm&, const Parameters& = {});

    // Throws OutOfStep, as Group::run does.
    void exchange(const void* block, std::size_t bytes);
    // Must follow, before anything else is done with the group; null: the data is not wanted.
    void take(void* output);

    const std::vector<std::size_t>& lengths() const { return lengths_; }
    std::size_t total() const { return total_; }
    bool complete() const { return complete_; }
    std::size_t longest() const { return longest_; }

private:
    // A step of the schedule that this member has a part in.
    struct Message {
        bool written;           // by this member, else read
        bool put;               // else an offer
        int peer;
        int first, count;       // blocks
        std::size_t cell;       // from the lane's start
        std::uint32_t name;     // in the flag
    };
    void add(const Schedule&, int depth);
    std::size_t longest_block(const Algorithm&, Problem) const;
    std::size_t carried(int r) const;
    std::size_t header_words(const Message&) const;
    void write(const Message&);
    void read(const Message&);

    Group& group_;
    const std::string name_;
    std::uint64_t called_;  // called.h
    std::vector<Message> messages_;
    std::size_t longest_ = 0;

    // Of the exchange that is under way.
    std::vector<std::size_t> lengths_;
    std::vector<const std::byte*> blocks_;  // where this member can read them; null: too long
    std::size_t total_ = 0, staged_ = 0;
    std::uint64_t sequence_ = 0;
    bool complete_ = false, may_stage_ = false;
    BoundSchedule inline_, staging_;        // what lane_is_free asks of a schedule, and nothing else
};

}  // namespace fanlight
