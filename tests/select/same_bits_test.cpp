// Which bits a sum of floating-point numbers has follows from the operation, its length, the ranks and their topology
// alone: not from whether data is copied once, which is measured, nor from how many cores there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/all_ranks.h"
#include "schedule/verify.h"
#include "select/select.h"

namespace fanlight {
namespace {

constexpr Operation reductions[] = {Operation::reduce, Operation::allreduce,      Operation::scan,
                                    Operation::exscan, Operation::reduce_scatter, Operation::reduce_scatter_block};

// Long enough for vectors that algorithms divide into blocks.
constexpr std::size_t several_blocks = 32 * 1024;

// One length of each range in which the same rules hold, or two, of which one is long.
std::vector<std::size_t> lengths(const Selector& selector, Situation s) {
    std::vector<std::size_t> all;
    for (s.bytes = 8;;) {
        all.push_back(s.bytes);
        const std::size_t to = selector.alike(s).second;
        if (s.bytes < several_blocks && several_blocks <= to) all.push_back(several_blocks);
        if (to > std::size_t{1} << 40) return all;
        s.bytes = to + 1;
    }
}

std::string bracketing(const Choice& choice, const Situation& s, int root) {
    if (!choice.algorithm) return "native";
    // Enough elements for each rank to have several; more only take longer.  But a long vector may be made of blocks.
    const bool is_long = family_of(s.operation) == Family::vector && s.bytes >= several_blocks && s.ranks <= 17;
    static std::map<std::tuple<const Algorithm*, int, int, bool, bool>, std::string> known;
    std::string& text = known[{choice.algorithm, s.ranks, root, s.commutative, is_long}];
    if (!text.empty()) return text;
    Problem p;
    p.operation = s.operation;
    p.size = s.ranks;
    p.root = root;
    p.element = 8;
    p.commutative = s.commutative;
    Parameters parameters = choice.parameters;
    parameters.once = 0;  // how data is copied
    EXPECT_EQ(parameters, Parameters{}) << "a bracketing of its own";
    p.bytes = is_long ? several_blocks : 16 * static_cast<std::size_t>(s.ranks);
    if (s.operation == Operation::reduce_scatter) {
        for (int r = 0; r < s.ranks; ++r) p.blocks.push_back({0, 8 * static_cast<std::size_t>(1 + r % 3)});
        lay_side_by_side(p);
    }
    for (const auto& rank : brackets(schedules_of_all(choice.algorithm->schedule, p), p)) {
        // Pieces, whose length follows from how data is copied, would have each its own.
        EXPECT_LE(rank.size(), 1u) << choice.algorithm->name << " combines the elements of a vector in different ways";
        text += (rank.empty() ? "" : rank.front()) + "\n";
    }
    return text;
}

TEST(SameBits, OfTheProblemAlone) {
    const Selector selector("", "");
    std::set<std::string> wrong;
    for (const Operation operation : reductions)
        for (const int ranks : {2, 3, 4, 5, 8, 16, 17, 32, 64, 65})
            for (const bool commutative : {true, false}) {
                Situation s;
                s.operation = operation;
                s.ranks = ranks;
                s.commutative = commutative;
                for (const std::size_t bytes : lengths(selector, s)) {
                    s.bytes = bytes;
                    std::vector<Choice> choices;
                    for (const bool oversubscribed : {false, true})
                        for (const bool single_copy : {false, true}) {
                            s.oversubscribed = oversubscribed;
                            s.single_copy = single_copy;
                            const Choice c = selector.choose(s);
                            const auto same = [&](const Choice& o) { return o.algorithm == c.algorithm; };
                            if (std::none_of(choices.begin(), choices.end(), same)) choices.push_back(c);
                        }
                    for (const int root : std::set{0, operation == Operation::reduce ? ranks - 1 : 0})
                        for (std::size_t i = 0; i < choices.size(); ++i)
                            if (bracketing(choices[i], s, root) != bracketing(choices[0], s, root))
                                wrong.insert(std::string(to_string(operation)) + " of " + std::to_string(bytes) + " bytes, " +
                                             std::to_string(ranks) + " ranks: " + std::string(choices[0].algorithm->name) +
                                             " and " + std::string(choices[i].algorithm->name));
                }
            }
    for (const std::string& w : wrong) ADD_FAILURE() << w;
}

}  // namespace
}  // namespace fanlight
