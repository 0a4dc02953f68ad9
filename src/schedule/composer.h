// Collectives made of collectives among some of the ranks, one after the other.  The result is one schedule for each rank.
//
//     bcast over nodes = bcast among the nodes' leaders, then bcast in each node
//
// A part runs in several groups of ranks at the same time, each rank in at most one of them.  All ranks add the same parts:
// a rank's scratch and offers follow from the parts before, so its peers know them too.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schedule/builder.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

class Composer {
public:
    // While one lives, this thread finds what the parts of a composition say of all ranks once, and not for every rank whose
    // schedule is made.  It goes by the problem: meanwhile no other algorithm's schedules may be made.
    class OfAllRanks;

    struct Group {
        std::vector<int> ranks;  // of the whole, in the order of the part's ranks
        int root = 0;            // the part's root: an index of `ranks`
    };
    // Where a rank of the whole has the part's input and output.
    struct Buffers {
        Address input, output;
    };
    using BuffersOf = std::function<Buffers(int rank)>;
    // All ranks have them there.
    static BuffersOf everywhere(Address input, Address output) {
        return [=](int) { return Buffers{input, output}; };
    }
    using Algorithm = std::function<Schedule(const Problem&)>;

    explicit Composer(const Problem& whole);
    Composer(const Composer&) = delete;
    Composer& operator=(const Composer&) = delete;
    ~Composer();

    // `part` is the problem of any group but for rank, size, root and topology.
    void add(const Algorithm& algorithm, const Problem& part, const std::vector<Group>& groups, const BuffersOf& buffers) {
        add(algorithm, [&](const Group&) { return part; }, groups, buffers);
    }
    // Groups whose blocks differ.
    void add(const Algorithm&, const std::function<Problem(const Group&)>& part, const std::vector<Group>& groups, const BuffersOf&);
    // What this rank does by itself, as a round.
    void copy(Address from, Address to, std::size_t bytes);
    void combine(Address from, Address to, std::size_t bytes, Order);
    // What each of these adds, at the same time: round by round.  They do not wait for each other's data, and where two
    // ranks put to each other in more than one of them these have one round.
    void overlap(const std::vector<std::function<void()>>& parts);
    // Scratch at the same place on all ranks that touch it.
    Address reserve(std::size_t bytes);
    Schedule finish();

    const Problem& whole() const { return whole_; }

private:
    bool is_copied_again(const Step&);
    void append(StepKind, Address from, Address to, std::size_t bytes, Order);
    void append(const Schedule& part, const Group& group, const BuffersOf& buffers, std::size_t scratch_at);
    // What parts say of all ranks: of each part, and of each rank behind it.
    struct Part {
        std::size_t scratch = 0;  // it needs so much
        std::vector<std::uint32_t> kind_of;
    };
    struct Said {
        std::deque<Part> parts;  // the first is none
        std::vector<BoundsOfKind> kinds{BoundsOfKind{}};  // what the ranks of a kind have put and offered; none goes or changes

        void add(const Algorithm&, const std::function<Problem(const Group&)>& part, const std::vector<Group>& groups);
        // Each rank of a group does what `told` says from the place in `first` on: ranks of one kind that differ in it
        // are no longer of one kind.
        void tell(Part&, const std::vector<Group>& groups, const std::vector<std::size_t>& first, const std::vector<BoundsOfKind>& told);
    };
    int offers_of(int rank) const { return said_->kinds[said_->parts[parts_].kind_of[static_cast<std::size_t>(rank)]].all.offers; }

    const Problem& whole_;
    Schedule result_;
    std::size_t reserved_ = 0;
    std::size_t parts_ = 0;  // so far
    OfAllRanks* const kept_;
    Said own_;
    Said* said_ = &own_;  // or what is kept
    std::vector<Step> copied_; // from the input, which nobody changes
};

class Composer::OfAllRanks {
public:
    OfAllRanks() : before_(current) { current = this; }
    OfAllRanks(const OfAllRanks&) = delete;
    OfAllRanks& operator=(const OfAllRanks&) = delete;
    ~OfAllRanks() { current = before_; }

private:
    friend Composer;
    // For a composition that is no part of another one, and of which all ranks know the same.
    static OfAllRanks* for_problem(const Problem&);

    static thread_local constinit OfAllRanks* current;
    OfAllRanks* const before_;
    bool is_taken_ = false;
    std::optional<Problem> problem_;  // of the last rank
    Said said_;
};

}  // namespace fanlight
