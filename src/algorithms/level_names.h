// The algorithms that a rule names for the levels of a topology, the innermost first:
//
//     allreduce by-levels(root-reads-all, recursive-doubling)    to one rank of each domain, and between these
//     allreduce by-levels(all-read-all, recursive-doubling)      everybody takes part on every level
//
// The last name is for the outermost domains' level, the last but one for all inner levels without a name of their own.
// With fewer levels the inner names are dropped.  Inside, a name is one of the operation's own algorithms if everybody can
// take part (barrier, allreduce, alltoall), else one that leads to a domain's representative, or back from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/topology.h"

namespace fanlight {

// As Parameters has them.  Throws std::invalid_argument that lists the names that exist.
std::uint64_t level_names(Operation, std::span<const std::string_view> names);
std::vector<std::string_view> names_of_levels(std::uint64_t);
// "by-levels(one-to-all,ring)", as users write it: lives for ever.
std::string_view text_of(const Algorithm&, std::uint64_t names);
// Null where the text names none.
const Algorithm* named_for_stage(std::uint64_t, std::size_t stage, std::size_t last);
bool everybody_meets(const Problem&);

// An algorithm of all ranks made of one that runs between the outermost domains alone: by-levels, or, where every rank
// has part in it, multi-lane.  An operation's algorithm stands for its namesake where another operation runs there.
struct OnLevels {
    const Algorithm* algorithm;
    std::uint64_t names;
};
OnLevels by_levels(const Algorithm& between);
OnLevels in_lanes(const Algorithm& between);
// Whether there is one for this problem where the outermost domains are these: not by levels where an operator that
// does not commute would meet operands in another order than the ranks', nor a scan where others' ranks lie between
// those of a domain; in lanes where all domains have as many ranks, and more than one.
bool goes_by_levels(const Problem&, const Domains&);
bool goes_in_lanes(const Problem&, const Domains&);

}  // namespace fanlight
