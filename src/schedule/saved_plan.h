// An algorithm as text: the schedules of all ranks for some numbers of ranks, as Python writes them
// (docs/own-algorithms.md) and programs load them.
//
//     fanlight-plan 1
//     hash 6f1c...                            of all that follows
//     operation bcast
//     name binomial
//     sizes 0..1048576                        bytes of the vector or of a block that it is meant for
//     topology 2x2                            if it is meant for one alone
//     commutative                             if the operator must commute
//     pipelined                               if what is long runs piece by piece even where nothing is staged
//     ranks 2 any-root                        a section; or `root 1`, and `commutative` or `ordered`
//     : copy in out n ; put 1 in out n        a line for each rank: steps, and | between rounds
//     tmp l(n) : arrive 0 out n               with the scratch that it needs
//
// Ranks of a section with `any-root` are counted from the root.  A place is in, out or tmp, and how far
// into it; lengths are expressions (length_expression.h), so that one plan serves any length.
//     put PEER FROM TO LENGTH            arrive PEER TO LENGTH [before|after]
//     offer FROM LENGTH READERS          get PEER OFFER FROM TO LENGTH [before|after]
//     copy FROM TO LENGTH                combine FROM TO LENGTH before|after
//
// Nothing of it is believed: the schedules of all ranks are verified for each problem before its first run.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "schedule/length_expression.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

class SavedPlan {
public:
    // Throws std::invalid_argument that names the line and what is wrong.
    explicit SavedPlan(std::string_view text);

    Operation operation() const { return operation_; }
    const std::string& name() const { return name_; }
    const std::string& hash() const { return hash_; }
    bool commutative() const { return commutative_; }
    bool pipelined() const { return pipelined_; }
    // Why it is not meant for this problem; empty if it is.
    std::string restriction(const Problem&) const;
    // Of problem.rank.  Throws std::invalid_argument with what verify() says of all ranks', if anything.
    Schedule schedule(const Problem&) const;
    // As they are written.
    std::vector<Schedule> schedules(const Problem&) const;

    // The text with the hash that it has.
    static std::string with_hash(std::string_view text);

private:
    struct Section {
        int ranks = 0;
        int root = 0;
        bool any_root = false;
        bool commutes = true, ordered = true;  // for which operators
        LengthExpressions lengths;
        std::vector<Schedule> schedules;       // with the numbers of expressions for places and lengths
    };
    class Reader;

    const Section* section(const Problem&) const;
    Schedule schedule(const Section&, const Problem&, int rank, const std::vector<std::size_t>& lengths) const;
    void check(const Problem&) const;
    std::string numbers_of_ranks() const;

    Operation operation_{};
    std::string name_, hash_, topology_;
    std::size_t from_ = 0, to_ = std::numeric_limits<std::size_t>::max();
    bool commutative_ = false, pipelined_ = false;
    std::vector<Section> sections_;

    // What verify() said, by what a schedule depends on: "" if nothing.
    using Asked = std::tuple<int, int, std::size_t, std::size_t, std::size_t, bool>;
    mutable std::mutex mutex_;
    mutable std::map<Asked, std::string> verified_;
};

}  // namespace fanlight
