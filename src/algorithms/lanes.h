// Collectives through the levels of a topology in which every rank takes part at every level, each with its
// part of the data: first with the ranks of its innermost domain, then with those that have its place in
// the other domains around, and so on; or the other way round.
//
//     2x2     0 1 | 2 3        0 and 1, 2 and 3 share a vector; then 0 and 2 meet with its first half,
//                              1 and 3 with its second
#pragma once

#include <functional>
#include <vector>

#include "schedule/composer.h"

namespace fanlight {

// A composer that knows who meets whom: stage 0 is in the innermost domains, the last one between the
// outermost.  A level whose domains differ in size is passed over, and, where an operator does not commute,
// one whose domains' ranks do not follow each other.
class Lanes : public Composer {
public:
    explicit Lanes(const Problem& whole);

    using Groups = std::vector<Group>;
    // A group's root: who shares all inner domains with the whole's.
    const Groups& stage(std::size_t s) const { return stages_[s]; }
    std::size_t last() const { return stages_.size() - 1; }
    // The ranks of the outermost domain that has the root; all, where there is one alone.
    const std::vector<int>& home() const { return home_; }
    // Those of a stage that are in the root's domain of its level.
    const Groups& around_root(std::size_t s) const { return around_root_[s]; }

    // A rank's part before stage s: all, its share of that, and so on.  Of blocks, as they lie when they are packed:
    // behind the last stage it is the rank's own.
    Block part(std::size_t s, int rank) const { return parts_[s][static_cast<std::size_t>(rank)]; }
    std::size_t longest_part(std::size_t s) const;
    // Of a stage: a group's part, in one block for each of its ranks.
    std::function<Problem(const Group&)> shares(std::size_t s, Operation) const;
    // Of the last one: what its ranks have all of.
    std::function<Problem(const Group&)> across(Operation) const;

    // From the innermost stage to the last but one each rank combines its share of `all`; where it has what it
    // takes to the last stage.
    Address reduce_up(Address all);
    // From the last stage but one to the innermost: all but these get what their groups have, each at its place
    // in `all`.
    void allgather_down(Address all, const std::vector<int>& but = {});
    // At both ends of stage s a rank's part lies at its place in `all`.
    BuffersOf in_place(std::size_t s, const std::function<Address(int rank)>& all) const;

    // The operation itself, of all the data, on each level: what a rule names there, or `own`.
    Schedule on_every_level(Schedule (*own)(const Problem&));

    // The input's blocks packed, or what will be the output's.
    Address pack();
    Address room_to_unpack();
    void unpack(Address packed);

private:
    Problem sub_problem(Operation) const;
    bool is_packed() const;
    void for_blocks(const std::function<void(Block at, std::size_t packed)>&) const;
    void find_parts(const std::vector<std::vector<int>>& places);

    std::vector<Groups> stages_, around_root_;
    std::vector<int> home_;
    std::vector<std::vector<Block>> parts_;  // of stage and rank
    std::vector<int> order_;                 // in which blocks are packed
};

}  // namespace fanlight
