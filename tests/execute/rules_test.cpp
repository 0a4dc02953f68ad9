// What the built-in rules choose for many ranks with a core each, which tests under an MPI do not see on a few cores.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "catalogue.h"
#include "on_threads.h"
#include "select/select.h"

namespace fanlight::testing {
namespace {

constexpr Operation operations[] = {Operation::barrier, Operation::bcast,  Operation::reduce,  Operation::allreduce,
                                    Operation::scan,    Operation::exscan, Operation::allgather, Operation::gather,
                                    Operation::scatter, Operation::alltoall, Operation::reduce_scatter_block};

// Of each range of lengths in which the same rules hold, as far as all threads' buffers stay short, the first length.
std::vector<std::pair<const Algorithm*, Problem>> chosen(int ranks, std::string_view topology, bool single_copy) {
    const Selector selector("", "");
    std::vector<std::pair<const Algorithm*, Problem>> all;
    for (const Operation operation : operations) {
        const bool all_blocks = family_of(operation) == Family::blocks;
        const std::size_t most = (4 << 20) / (all_blocks ? static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) : 16);
        Situation s;
        s.operation = operation;
        s.bytes = operation == Operation::barrier ? 0 : 8;
        s.ranks = ranks;
        s.single_copy = single_copy;
        s.commutative = false;
        for (std::size_t to = 0; to < most; s.bytes = to + 1) {
            to = selector.alike(s).second;
            const Choice choice = selector.choose(s);
            if (!choice.algorithm) {
                ADD_FAILURE() << to_string(operation) << " of " << s.bytes << " bytes is the MPI library's";
                break;
            }
            Problem p;
            p.operation = operation;
            p.size = ranks;
            p.root = has_root(operation) ? ranks / 3 : 0;
            p.element = reduces(operation) ? 8 : 1;
            p.bytes = (s.bytes + 7) / 8 * 8;
            p.commutative = false;
            p.parameters = choice.parameters;
            if (!topology.empty()) p.topology = Topology::from(topology, ranks);
            all.emplace_back(choice.algorithm, p);
            if (operation == Operation::barrier) break;
        }
    }
    return all;
}

TEST(Rules, OfManyRanksGiveRightResults) {
    const struct {
        int ranks;
        const char* topology;
        bool single_copy;
    } groups[] = {{12, "3x4", true}, {24, "2x4x3", false}, {40, "2x2x10", true}, {48, "", true}, {72, "2x36", false}, {136, "2x4x17", true}};
    for (const auto& [ranks, topology, single_copy] : groups) {
        const auto all = chosen(ranks, topology, single_copy);
        EXPECT_EQ(on_threads(ranks, single_copy, [&](Group& g) {
            for (const auto& [algorithm, problem] : all)
                if (std::string w = run_and_check(g, *algorithm, problem, 1); !w.empty()) return w;
            return std::string();
        }), "") << ranks << " ranks";
    }
}

}  // namespace
}  // namespace fanlight::testing
