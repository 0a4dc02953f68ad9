// Collectives through the levels of a topology in which every rank takes part on every level with its part of the data:
// first with the ranks of its innermost domain, then with those that have its place in the surrounding domains, and so on;
// or in the reverse order.
//
//     2x2     0 1 | 2 3        0 and 1, 2 and 3 share a vector; then 0 and 2 meet with its first half,
//                              1 and 3 with its second
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "algorithms/packing.h"
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

    // What a rule names for the last stage, if it can serve there; else `own`.
    Algorithm across(Operation, Schedule (*own)(const Problem&)) const;

    // From a stage, else the innermost, to the last but one each rank combines its share of `all`; where it has what
    // it takes to the last stage.
    Address reduce_up(Address all, std::size_t from_stage = 0);
    // From the last stage but one to the innermost: all but these get what their groups have, each at its place
    // in `all`.
    void allgather_down(Address all, const std::vector<int>& but = {});
    // At both ends of stage s a rank's part lies at its place in `all`.
    BuffersOf in_place(std::size_t s, const std::function<Address(int rank)>& all) const;

    // The operation itself, of all the data, on each level: what a rule names there, or `own`.
    Schedule on_every_level(Schedule (*own)(const Problem&));

    // The blocks of all ranks, packed in the order of the parts.
    const Packing& packing() const { return *packing_; }
    // Long blocks that do not lie so are not copied to lie so: what a stage does is done for one block of each of its
    // ranks after the other.  Not where that takes more than so many.
    bool one_by_one(std::size_t most);
    // Then: the ranks that have a rank's place in every stage up to s, those of its own outermost domain first; the same
    // number for all.
    const std::vector<int>& alike(std::size_t s, int rank) const { return alike_[s][static_cast<std::size_t>(rank)]; }
    // How many they are, and of these in the own outermost domain.
    std::size_t count(std::size_t s) const { return alike(s, 0).size(); }
    std::size_t count_at_home(std::size_t s) const { return count(s) / stages_.back().front().ranks.size(); }
    // Of each of a group's ranks the block of the i-th of those, where it lies.
    std::function<Problem(const Group&)> blocks_of_alike(std::size_t s, std::size_t i, Operation) const;

private:
    Problem sub_problem(Operation) const;
    void find_parts();
    int place(std::size_t s, int rank) const { return places_[s][static_cast<std::size_t>(rank)]; }

    std::vector<Groups> stages_, around_root_;
    std::vector<std::vector<int>> places_;   // of stage and rank: in its group
    std::vector<int> home_;
    std::vector<std::vector<Block>> parts_;  // of stage and rank
    std::optional<Packing> packing_;
    std::vector<std::vector<std::vector<int>>> alike_;  // of stage and rank
};

}  // namespace fanlight
