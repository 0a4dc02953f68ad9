// How a group runs a problem: the algorithm's schedule, cut into pieces that fit and bound to the group's cells, staging
// and messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "algorithms/lengths.h"
#include "algorithms/registry.h"
#include "execute/plan.h"
#include "schedule/problem.h"
#include "transport/remote.h"
#include "transport/shared.h"

namespace fanlight {

// The most edges of any rank of a neighborhood, in and out counted separately.
struct MostNeighbors {
    std::size_t edges = 0;
    std::size_t peers = 0;  // to whom they lead
};

class Planner {
public:
    int rank() const { return rank_; }
    int size() const { return size_; }
    bool single_copy() const { return single_copy_; }
    bool oversubscribed() const { return oversubscribed_; }

    // The schedule of this problem by this algorithm, bound to this group.  The caller may keep many, but not longer than
    // the group.  A plan for a few ranks takes about a microsecond, quick enough for a single call.
    // Throws std::invalid_argument, on all members alike, if a restriction of the algorithm or the room for staging forbids
    // the problem.
    // `reach`: the schedule's ranks are not this group's members, but those of a communicator on several nodes.
    // If lengths are unknown (lengths_are_unknown), and in scatter where blocks are staged at their readers, the plan is one
    // operation whatever the others' lengths are, so there is nothing to agree on: long blocks are put in pieces (Algorithm::piecewise), or copied once from the length on from which
    // that pays.  The length of a piece follows from the largest number of blocks that a rank has for others, or gets from them.
    Plan plan(const Algorithm&, const Problem&, const Reach& = {}, MostNeighbors = {}) const;
    // The same, in the memory of a plan that is no longer needed.
    void plan(const Algorithm&, const Problem&, Plan&, const Reach& = {}, MostNeighbors = {}) const;
    // If lengths are unknown: whether this algorithm can serve so many ranks, whatever the lengths are.
    bool plans_any(const Algorithm&, const Reach& = {}, MostNeighbors = {}) const;
    // What reaches the ranks of other nodes; to be called before the first such plan.
    void reach_by(Transport transport, std::shared_ptr<RemoteTransport> remote) { remotes_[static_cast<std::size_t>(transport)] = std::move(remote); }
    // The measured length from which on messages are copied once, alike on all ranks; the setting overrides it.  To be called
    // before the first plan.
    void copy_once_from(std::size_t bytes);
    // Whether its operations have messages, so that only a thread that may call MPI advances them.
    bool has_messages() const { return remotes_[static_cast<std::size_t>(Transport::message)] != nullptr; }

    // If lengths travel first: binds the second part when they have arrived (Plan::Lengths).
    void bind_blocks(const Plan&) const;
    // Turns a plan into that of the same problem with blocks of other lengths (allgatherv, gatherv, scatterv, alltoallv),
    // for far less than a new one costs; false: make a new one.
    bool rebind_counts(const Problem&, Plan&) const;

protected:
    // `scratch`: mapped by all, in equal parts for each member; `base`: where the group's segment is.
    Planner(std::byte* base, int rank, int size, bool single_copy, SharedSlots::Capacity, std::span<std::byte> scratch);
    ~Planner() = default;

    std::size_t room_for_scratch() const {
        return mapped_scratch_.empty() ? SIZE_MAX : mapped_scratch_.size() / static_cast<std::size_t>(size_);
    }

    const int rank_, size_;
    const bool single_copy_;
    const SharedSlots::Capacity capacity_;
    bool oversubscribed_ = false;
    const std::span<std::byte> mapped_scratch_;
    SharedSlots shared_slots_;
    std::uint64_t placed_ = 0;  // so often a plan was given memory (Group::introduce)
    std::array<std::shared_ptr<RemoteTransport>, transport_names.size()> remotes_;

private:
    // Null: all ranks share memory.
    RemoteTransport* remote(const Reach& reach) const { return reach.nodes ? remotes_[static_cast<std::size_t>(reach.transport)].get() : nullptr; }
    // How all ranks alike cut a problem into pieces (cut.cpp).
    struct Cut {
        std::size_t bytes;
        bool in_many_areas;  // BoundSchedule::in_many_areas
    };
    // `once`: the parameter of this name.
    BindOptions options_for(Operation, const Reach&, std::size_t once = 0) const;
    Cut cut(const Algorithm&, const Problem&, BindOptions) const;
    // A piece that one rank copies in while another copies out.
    static constexpr std::size_t one_way_longest = 64 * 1024;
    static std::size_t staged_piece(Operation, std::size_t length, bool oversubscribed);
    void plan_pieces(const Algorithm&, const Problem&, Cut, BindOptions, Plan&) const;
    void bind_piece(const Algorithm&, const Problem&, std::uint64_t called, const BindOptions&, BoundSchedule&) const;
    void must_have_room(const BoundSchedule&) const;
    static void find_long_moves(const Problem&, Plan&);
    void plan_lengths(const Algorithm&, const Problem&, bool in_many_areas, const BindOptions&, Plan&) const;
    static void find_awaited(std::vector<Awaited>, Plan::Lengths&);
    static void tell_lengths(const Problem&, Plan::Lengths&);
    bool scatters_at_readers(const Algorithm&, const Problem&, const Reach&) const;
    // Who shares the staging where a plan is made with local counts.
    struct Share {
        MostNeighbors most;
        bool at_reader = false;
        std::size_t writers = 1;  // that stage at one reader; of two the first is the root
        std::size_t longest = SIZE_MAX;  // a piece
    };
    Share share(const Algorithm&, const Reach&, MostNeighbors) const;
    SharedSlots least_room(const Reach&) const;
    std::size_t told_at_most(const Algorithm&, const Reach&) const;
    static std::size_t longest_piece(const Share&, const SharedSlots&);
    bool moves_blocks_whole(const Problem&, const BoundSchedule&) const;
    std::size_t longest_rebound(const Problem&, const BindOptions&) const;
    void keep_moves(const Algorithm&, const Problem&, const BindOptions&, Plan&) const;
    void plan_with_local_counts(const Algorithm&, const Problem&, const Share&, const Reach&, Plan&) const;

    BindOptions options_;
    std::size_t copied_once_from_ = 0;  // inside a node; 0: as options_ say
};

}  // namespace fanlight
