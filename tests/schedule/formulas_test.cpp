// What every algorithm costs, counted from its schedules, against closed formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "algorithms/registry.h"
#include "formulas.h"
#include "schedule/all_ranks.h"
#include "schedule/count.h"

namespace fanlight {
namespace {

using namespace formulas;

// Messages and signals, bytes, in blocks or in P-th parts of a vector, the longest chain of
// messages, the most rounds of a rank: where a closed formula is worth having.
struct Formula {
    N (*messages)(N);
    N (*bytes)(N);
    N (*depth)(N);
    N (*rounds)(N) = nullptr;
    Parameters parameters = {};
    const char* topology = nullptr;
};

N nothing(N) { return 0; }
N vectors_to_others(N p) { return (p - 1) * p; }
// From each rank to all above it; the same inside two nodes, the first one's sum, and that in the second.
N pairs(N p) { return p * (p - 1) / 2; }
N scan_in_node(N p) { return p <= 16 ? pairs(p) : doubling(p); }
N exscan_in_node(N p) { return p <= 16 ? pairs(p) : p - 1 + doubling(p - 1); }
N scan_in_two_nodes(N p) { return p == 1 ? 0 : 1 + scan_in_node(p - p / 2) + scan_in_node(p / 2) + (p / 2 - 1); }
N exscan_in_two_nodes(N p) { return p == 1 ? 0 : 1 + exscan_in_node(p - p / 2) + exscan_in_node(p / 2) + (p / 2 - 1); }
// Through two nodes: to the one rank of each, between these, and back.
N two_for_each_other(N p) { return 2 * (p - 1); }
N all_pairs_of_two_nodes(N p) { return p == 1 ? 0 : (p - 2) + p + (p - 2) * p; }
// Vectors of all blocks inside the nodes, each node's blocks to it, and each rank's from there.
N all_vectors_of_two_nodes(N p) { return p == 1 ? 0 : (p - 2) * p + p + (p - 2); }
N twice_from_one_node(N p) { return p == 1 ? 0 : (p - 2) + p / 2; }
N through_two_levels(N p) { return p == 1 ? 0 : p < 4 ? 1 : 2; }
// The longest way through two nodes: inside one, across, and inside the other.
N inside(N p) { return p > 1; }
N inside_by_tree(N p) { return p <= 16 ? inside(p) : height(2, p); }  // bcast, reduce
N inside_from_last(N p) { return p <= 16 ? inside(p) : ceil2(p); }     // bcast
N larger(N p) { return p - p / 2; }
N through_two_levels_by_tree(N p) { return p == 1 ? 0 : std::max(inside_by_tree(larger(p)), 1 + inside_by_tree(p / 2)); }
N up_and_back(N p, N (*up)(N), N (*back)(N)) {
    const N a = larger(p), b = p / 2;
    return p == 1 ? 0 : std::max({up(a) + 1 + back(b), up(b) + 1 + back(a), up(a) + back(a)});
}
N up_and_back_by_tree(N p) { return up_and_back(p, inside, inside_by_tree); }
N up_by_tree_and_back(N p) { return up_and_back(p, inside_by_tree, inside); }
N inside_scan(N p) { return p <= 16 ? inside(p) : height(2, p); }
N inside_exscan(N p) { return p <= 16 ? inside(p) : 1 + height(2, p - 1); }
N scan_and_to_the_second(N p) { return p == 1 ? 0 : inside_scan(larger(p)) + 1 + inside_from_last(p / 2); }
N exscan_and_to_the_second(N p) { return p == 1 ? 0 : inside_exscan(larger(p)) + 1 + inside_from_last(p / 2); }

const std::multimap<std::string, Formula> formulas{
    {"barrier by-levels", {[](N p) { return p * ceil2(p); }, nothing, nullptr}},
    {"barrier by-levels", {[](N p) { return 2 * (p - 1); }, nothing, nullptr, nullptr, {}, "2x*"}},
    {"barrier one-to-all", {all_pairs, nothing, one, one}},
    {"barrier signal-register", {[](N p) { return 2 * (p - 1); }, nothing, two, two}},
    {"barrier dissemination", {[](N p) { return p * ceil2(p); }, nothing, ceil2, ceil2}},
    {"barrier dissemination", {[](N p) { return p * digits_4(p); }, nothing, rounds_of_4, rounds_of_4, {.degree = 4}}},
    {"barrier pairwise-exchange", {[](N p) { return power(p) * floor2(p) + 2 * beyond(p); }, nothing,
                                   folded_depth,
                                   [](N p) { return floor2(p) + folding(p); }}},
    {"barrier radices", {all_pairs, nothing, one, nullptr, {.degree = 64}}},
    {"barrier radices", {nullptr, nothing, ceil2, ceil2, {.degree = 2}}},
    {"barrier radices", {[](N p) { const N a = larger(p), b = p / 2; return p == 1 ? 0 : a * (a - 1) + (b ? b * (b - 1) : 0) + p; }, nothing, nullptr, nullptr, {}, "2x*"}},
    {"barrier tree", {[](N p) { return 2 * (p - 1); }, nothing, [](N p) { return 2 * height(3, p); },
                      [](N p) { return p == 1 ? 0 : height(3, p) > 1 ? 3 : N{2}; }}},
    {"barrier tree", {[](N p) { return 2 * (p - 1); }, nothing, two, two, {.degree = 64}}},

    {"bcast binomial", {others, vectors_to_others, [](N p) { return height(2, p); }}},
    {"bcast binomial", {others, vectors_to_others, [](N p) { return height(4, p); }, nullptr, {.degree = 4}}},
    {"bcast binary-tree", {others, vectors_to_others, floor2, [](N p) { return p > 3 ? N{2} : 1; }}},
    {"bcast linear", {others, vectors_to_others, one, [](N p) { return p; }}},
    {"bcast tree", {others, vectors_to_others, [](N p) { return height(3, p); },
                    [](N p) { return height(3, p) > 1 ? N{2} : 1; }}},
    {"bcast tree", {others, vectors_to_others, others, [](N p) { return p > 2 ? N{2} : 1; }, {.degree = 1}}},
    {"bcast one-to-all", {others, vectors_to_others, one, unit}},
    {"bcast root-writes-all", {others, vectors_to_others, one, unit}},
    {"bcast scatter-allgather", {all_pairs, vectors_to_others, [](N p) { return std::min(p - 1, N{2}); },
                                 [](N p) { return p > 1 ? N{2} : 1; }, {.minimum = 1}}},
    {"bcast scatter-allgather", {others, vectors_to_others, one, unit, {.minimum = 1 << 20}}},
    {"bcast read-and-write", {[](N p) { return 2 * (p - 1); }, vectors_to_others, one, unit}},
    {"bcast scatter-ring-allgather", {[](N p) { return p - 1 + p * (p - 1); },
                                      [](N p) { return ones(p) + p * (p - 1); },
                                      [](N p) { return p > 1 ? height(2, p) + p - 1 : 0; }}},
    {"bcast pruned-ring", {[](N p) { return p - 1 + p * p - p - ones(p); },
                           [](N p) { return ones(p) + p * p - p - ones(p); }, nullptr}},
    // The root's node, short vectors whole; a part for each rank of the other node; these to each other.
    {"bcast multi-lane", {others, vectors_to_others, [](N p) { return height(2, p); }, nullptr, {}, "1x*"}},
    {"bcast multi-lane", {[](N p) { return p % 2 || p == 2 ? others(p) : p / 2 - 1 + p / 2 + all_pairs(p / 2); },
                          [](N p) { return p % 2 || p == 2 ? vectors_to_others(p) : (p / 2 - 1) * p + p + 2 * all_pairs(p / 2); }, nullptr, nullptr, {}, "2x*"}},
    {"bcast by-levels", {others, vectors_to_others, through_two_levels_by_tree, nullptr, {}, "2x*"}},
    // A ring of 4 ranks' nodes, and each rank that is not in it is sent the whole.
    {"bcast pruned-ring-on-nodes", {[](N p) { const N n = std::min(p, N{4}); return n - 1 + n * n - n - ones(n) + p - n; },
                                    vectors_to_others, nullptr, nullptr, {}, "4x*"}},
    {"bcast pruned-ring-on-nodes", {others, vectors_to_others, [](N p) { return height(2, p); }, nullptr, {}, "1x*"}},

    // Whatever the domains, no rank is sent a byte twice.
    {"bcast radices", {nullptr, vectors_to_others, nullptr}},
    {"bcast radices", {nullptr, vectors_to_others, nullptr, nullptr, {.degree = 2}}},
    {"bcast radices", {[](N p) { return p * (p - 1); }, vectors_to_others, [](N p) { return std::min(p - 1, N{2}); }, nullptr, {.degree = 64}}},
    {"bcast radices", {nullptr, vectors_to_others, nullptr, nullptr, {}, "3x*:cyclic"}},

    {"bcast circulant", {[](N p) { return (p - 1) * p; }, vectors_to_others, nullptr, [](N p) { return p == 1 ? 1 : p - 1 + ceil2(p); }, {.minimum = 64}}},
    {"bcast circulant", {others, vectors_to_others, nullptr, [](N p) { return std::max(ceil2(p), N{1}); }}},

    {"bcast bine", {others, vectors_to_others, nullptr}},

    {"reduce binomial", {others, vectors_to_others, [](N p) { return height(2, p); }}},
    {"reduce multi-lane", {others, vectors_to_others, [](N p) { return height(2, p); }, nullptr, {}, "1x*"}},
    {"reduce multi-lane", {[](N p) { return p % 2 || p == 2 ? others(p) : 2 * all_pairs(p / 2) + p / 2 + p / 2 - 1; },
                           [](N p) { return p % 2 || p == 2 ? vectors_to_others(p) : 4 * all_pairs(p / 2) + p + 2 * (p / 2 - 1); }, nullptr, nullptr, {}, "2x*"}},
    {"reduce by-levels", {others, vectors_to_others, through_two_levels_by_tree, nullptr, {}, "2x*"}},
    {"reduce tree", {others, vectors_to_others, [](N p) { return height(3, p); }}},
    {"reduce tree", {others, vectors_to_others, others,
                     [](N p) { return std::min(p, N{3}); }, {.degree = 1}}},
    {"reduce read-and-write", {[](N p) { return 2 * (p - 1); }, vectors_to_others, one}},
    {"reduce root-reads-all", {others, vectors_to_others, one}},
    {"reduce reduce-scatter-gather", {[](N p) { return (p + 1) * (p - 1); },
                                      [](N p) { return (p + 1) * (p - 1); }, two}},

    {"reduce radices", {[](N p) { return (p + 1) * (p - 1); }, [](N p) { return (p + 1) * (p - 1); }, two, nullptr, {.degree = 64}}},

    {"reduce circulant", {[](N p) { return (p - 1) * p; }, vectors_to_others, nullptr, nullptr, {.minimum = 64}}},
    {"reduce circulant", {others, vectors_to_others, nullptr}},

    {"reduce bine", {others, vectors_to_others, nullptr}},

    {"allreduce binomial", {[](N p) { return 2 * (p - 1); }, [](N p) { return 2 * p * (p - 1); },
                            [](N p) { return 2 * height(2, p); }}},
    {"allreduce tree", {[](N p) { return 2 * (p - 1); }, [](N p) { return 2 * p * (p - 1); },
                        [](N p) { return 2 * height(3, p); }}},
    {"allreduce multi-lane", {[](N p) { return power(p) * floor2(p) + 2 * beyond(p); },
                              [](N p) { return (power(p) * floor2(p) + 2 * beyond(p)) * p; }, folded_depth, nullptr, {}, "1x*"}},
    {"allreduce multi-lane", {[](N p) { return p % 2 || p == 2 ? power(p) * floor2(p) + 2 * beyond(p) : 4 * all_pairs(p / 2) + p; },
                              [](N p) { return p % 2 || p == 2 ? (power(p) * floor2(p) + 2 * beyond(p)) * p : 8 * all_pairs(p / 2) + 2 * p; },
                              nullptr, nullptr, {}, "2x*"}},
    {"allreduce by-levels", {[](N p) { return 2 * (p - 1); }, [](N p) { return 2 * (p - 1) * p; }, nullptr, nullptr, {}, "2x*"}},
    {"allreduce recursive-doubling", {[](N p) { return power(p) * floor2(p) + 2 * beyond(p); },
                                      [](N p) { return (power(p) * floor2(p) + 2 * beyond(p)) * p; },
                                      folded_depth}},
    {"allreduce halving-doubling", {[](N p) { return 2 * power(p) * floor2(p) + 2 * beyond(p); },
                                    [](N p) { return (2 * (power(p) - 1) + 2 * beyond(p)) * p; },
                                    [](N p) { return 2 * floor2(p) + folding(p); },
                                    [](N p) { return p == 1 ? 1 : 3 * floor2(p) + (beyond(p) ? 3 : 0); }}},
    {"allreduce bine", {[](N p) { return 2 * power(p) * floor2(p) + 2 * beyond(p); },
                        [](N p) { return (2 * (power(p) - 1) + 2 * beyond(p)) * p; },
                        [](N p) { return 2 * floor2(p) + folding(p); }}},
    {"allreduce ring", {[](N p) { return 2 * p * (p - 1); }, [](N p) { return 2 * p * (p - 1); },
                        [](N p) { return 2 * (p - 1); }, [](N p) { return std::max(3 * (p - 1), N{1}); }}},
    {"allreduce all-read-all", {all_pairs, [](N p) { return p * (p - 1) * p; }, one}},
    {"allreduce reduce-scatter-allgather", {[](N p) { return 2 * p * (p - 1); },
                                            [](N p) { return 2 * p * (p - 1); }, two}},

    // Whatever the domains, each byte of a rank is combined once, and comes to each other rank once.
    {"allreduce radices", {nullptr, [](N p) { return 2 * p * (p - 1); }, nullptr}},
    {"allreduce radices", {nullptr, [](N p) { return 2 * p * (p - 1); }, [](N p) { return 2 * ceil2(p); }, nullptr, {.degree = 2}}},
    {"allreduce radices", {[](N p) { return 2 * p * (p - 1); }, [](N p) { return 2 * p * (p - 1); }, two, nullptr, {.degree = 64}}},
    {"allreduce radices", {nullptr, [](N p) { return 2 * p * (p - 1); }, nullptr, nullptr, {}, "3x*:cyclic"}},

    {"allreduce circulant", {nullptr, [](N p) { return 2 * p * (p - 1); }, [](N p) { return 2 * ceil2(p); }}},
    {"allreduce circulant", {nullptr, [](N p) { return 2 * p * (p - 1); }, nullptr, nullptr, {.degree = 4}}},
    {"allreduce dual-root", {[](N p) { return 2 * (p - 1); }, [](N p) { return 2 * p * (p - 1); }, [](N p) { return p == 1 ? 0 : floor2(p - p / 2) + std::max(floor2(p / 2) + 1, floor2(p - p / 2)); }}},

    {"scan linear", {others, vectors_to_others, others}},
    {"scan recursive-doubling", {doubling, [](N p) { return doubling(p) * p; }, floor2}},
    {"scan all-read-lower", {[](N p) { return p * (p - 1) / 2; }, [](N p) { return p * (p - 1) / 2 * p; }, one}},
    {"exscan linear", {others, vectors_to_others, others}},
    {"exscan recursive-doubling", {[](N p) { return p - 1 + (p > 1 ? doubling(p - 1) : 0); },
                                   [](N p) { return (p - 1 + (p > 1 ? doubling(p - 1) : 0)) * p; },
                                   [](N p) { return p > 1 ? 1 + floor2(p - 1) : 0; }}},
    {"exscan doubling-123", {[](N p) { return doubling_123(p); }, [](N p) { return doubling_123(p) * p; }, nullptr}},
    {"exscan all-read-lower", {[](N p) { return p * (p - 1) / 2; }, [](N p) { return p * (p - 1) / 2 * p; }, one}},

    {"allgather recursive-doubling", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},
    {"allgather folded-doubling",
     // What goes back to the folded ranks wraps around behind the last one, but for the first.
     {[](N p) { return power(p) * floor2(p) + (beyond(p) ? 3 * beyond(p) - 1 : 0); },
      [](N p) { return (power(p) - 1) * p + beyond(p) * p; }, folded_depth,
      [](N p) { return p == 1 ? 1 : floor2(p) + folding(p); }}},
    {"allgather neighbor-exchange", {[](N p) { return p == 1 ? 0 : p * p / 2; }, all_pairs,
                                     [](N p) { return p / 2; }, [](N p) { return std::max(p / 2, N{1}); }}},
    {"allgather bruck", {[](N p) {
         N messages = p * ceil2(p);  // and what wraps around behind the last rank once more
         for (N d = 2; d < p; d *= 2) messages += std::min(d, p - d) - 1;
         return messages;
     }, all_pairs, ceil2}},
    {"allgather bruck", {nullptr, all_pairs, rounds_of_4, nullptr, {.degree = 4}}},
    {"allgather bine", {[](N p) { return p * floor2(p); }, all_pairs, floor2, [](N p) { return p == 1 ? 1 : floor2(p) + 2; }}},
    {"allgather circulant", {nullptr, all_pairs, ceil2, [](N p) { return 1 + ceil2(p); }}},
    {"allgather ring", {all_pairs, all_pairs, others}},
    {"allgather all-read-all", {all_pairs, all_pairs, one}},

    {"scan by-levels", {scan_in_node, [](N p) { return p * scan_in_node(p); }, inside_scan}},
    {"scan by-levels", {scan_in_two_nodes, [](N p) { return p * scan_in_two_nodes(p); }, scan_and_to_the_second, nullptr, {}, "2x*"}},
    {"exscan by-levels", {exscan_in_node, [](N p) { return p * exscan_in_node(p); }, inside_exscan}},
    {"exscan by-levels", {exscan_in_two_nodes, [](N p) { return p * exscan_in_two_nodes(p); }, exscan_and_to_the_second, nullptr, {}, "2x*"}},
    {"allgather locality-bruck", {nullptr, all_pairs, ceil2}},
    {"allgather locality-bruck", {[](N p) { return p == 1 ? 0 : larger(p) * larger(p) + (p / 2) * (p / 2); }, all_pairs, nullptr, nullptr, {}, "2x*"}},
    {"allgather locality-bruck", {nullptr, all_pairs, nullptr, nullptr, {}, "7x*:cyclic"}},
    {"allgather multi-lane", {[](N p) { return p * ceil2(p); }, all_pairs, ceil2, nullptr, {}, "1x*"}},
    {"allgather multi-lane", {[](N p) { return p % 2 || p == 2 ? p * ceil2(p) : p + 2 * all_pairs(p / 2); },
                       [](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 4 * all_pairs(p / 2); }, nullptr, nullptr, {}, "2x*"}},
    {"allgather by-levels", {[](N p) { return p * ceil2(p); }, all_pairs, ceil2}},
    {"allgather by-levels", {two_for_each_other, all_pairs_of_two_nodes, up_and_back_by_tree, nullptr, {}, "2x*"}},
    {"gather by-levels", {others, others, one, unit}},
    {"gather by-levels", {others, twice_from_one_node, through_two_levels, nullptr, {}, "2x*"}},
    {"scatter by-levels", {others, others, one, unit}},
    {"scatter by-levels", {others, twice_from_one_node, through_two_levels, nullptr, {}, "2x*"}},
    {"reduce-scatter-block multi-lane", {all_pairs, all_pairs, one, nullptr, {}, "1x*"}},
    {"reduce-scatter-block multi-lane", {[](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 2 * all_pairs(p / 2); },
                       [](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 4 * all_pairs(p / 2); }, nullptr, nullptr, {}, "2x*"}},
    {"reduce-scatter-block by-levels", {all_pairs, all_pairs, one}},
    {"reduce-scatter-block by-levels", {two_for_each_other, all_vectors_of_two_nodes, up_by_tree_and_back, nullptr, {}, "2x*"}},
    {"reduce-scatter multi-lane", {all_pairs, all_pairs, one, nullptr, {}, "1x*"}},
    {"reduce-scatter multi-lane", {[](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 2 * all_pairs(p / 2); },
                       [](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 4 * all_pairs(p / 2); }, nullptr, nullptr, {}, "2x*"}},
    {"reduce-scatter by-levels", {all_pairs, all_pairs, one}},
    {"reduce-scatter by-levels", {two_for_each_other, all_vectors_of_two_nodes, up_by_tree_and_back, nullptr, {}, "2x*"}},
    {"gather binomial", {others, ones, [](N p) { return height(2, p); }}},
    {"gather bine", {others, ways_in_bine, longest_in_bine}},
    {"gather all-write-root", {others, others, one}},
    {"gather root-reads-all", {others, others, one}},
    {"scatter binomial", {others, ones, [](N p) { return height(2, p); }}},
    {"scatter bine", {others, ways_in_bine, longest_in_bine}},
    {"scatter all-read-root", {others, others, one}},
    {"scatter root-writes-all", {others, others, one, unit}},

    {"alltoall pairwise", {all_pairs, all_pairs, others}},
    {"alltoall all-read-all", {all_pairs, all_pairs, one}},
    {"alltoall all-write-all", {all_pairs, all_pairs, one, unit}},
    {"alltoall bruck", {[](N p) { return p * ceil2(p); }, [](N p) { return p * ones(p); }, ceil2,
                        [](N p) { return 2 * ceil2(p) + 1; }}},
    {"alltoall bruck", {[](N p) { return p * digits_4(p); }, [](N p) { return p * ones_4(p); }, rounds_of_4, nullptr, {.degree = 4}}},

    // What wraps around behind the last rank, in the first step, is a message more.
    {"reduce-scatter-block circulant", {[](N p) { return p == 1 ? 0 : p * ceil2(p) + p / 2 - 1; }, all_pairs, ceil2}},
    {"reduce-scatter-block circulant", {nullptr, all_pairs, nullptr, nullptr, {.degree = 4}}},
    {"reduce-scatter-block bine", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},
    {"reduce-scatter-block all-read-all", {all_pairs, all_pairs, one}},
    {"reduce-scatter-block all-read-around", {all_pairs, all_pairs, one}},
    {"reduce-scatter-block pairwise", {all_pairs, all_pairs, others}},
    {"reduce-scatter-block recursive-halving", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},

    {"allgatherv recursive-doubling", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},
    {"allgatherv folded-doubling", {[](N p) { return power(p) * floor2(p) + 3 * beyond(p); },
                                    [](N p) { return (power(p) - 1) * p + beyond(p) * p; },
                                    folded_depth}},
    {"allgatherv bruck", {[](N p) { return p * ceil2(p); }, all_pairs, ceil2}},
    {"allgatherv bruck", {[](N p) { return p * digits_4(p); }, all_pairs, rounds_of_4, nullptr, {.degree = 4}}},
    {"allgatherv locality-bruck", {nullptr, all_pairs, ceil2}},
    {"allgatherv locality-bruck", {[](N p) { return p == 1 ? 0 : larger(p) * larger(p) + (p / 2) * (p / 2); }, all_pairs, nullptr, nullptr, {}, "2x*"}},
    {"allgatherv locality-bruck", {nullptr, all_pairs, nullptr, nullptr, {}, "7x*:cyclic"}},
    {"allgatherv multi-lane", {[](N p) { return p * ceil2(p); }, all_pairs, ceil2, nullptr, {}, "1x*"}},
    {"allgatherv multi-lane", {[](N p) { return p % 2 || p == 2 ? p * ceil2(p) : p + 2 * all_pairs(p / 2); },
                       [](N p) { return p % 2 || p == 2 ? all_pairs(p) : p + 4 * all_pairs(p / 2); }, nullptr, nullptr, {}, "2x*"}},
    {"allgatherv by-levels", {[](N p) { return p * ceil2(p); }, all_pairs, ceil2}},
    {"allgatherv by-levels", {two_for_each_other, all_pairs_of_two_nodes, up_and_back_by_tree, nullptr, {}, "2x*"}},
    {"allgatherv bine", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},
    {"allgatherv circulant", {nullptr, all_pairs, ceil2, [](N p) { return 1 + ceil2(p); }}},
    {"allgatherv ring", {all_pairs, all_pairs, others}},
    {"allgatherv all-read-all", {all_pairs, all_pairs, one}},
    // What wraps around behind the last rank is a message more, as in allgather.
    {"allgatherv-any folded-doubling",
     {[](N p) { return power(p) * floor2(p) + (beyond(p) ? 3 * beyond(p) - 1 : 0); },
      [](N p) { return (power(p) - 1) * p + beyond(p) * p; }, folded_depth,
      [](N p) { return p == 1 ? 1 : floor2(p) + folding(p); }}},
    {"allgatherv-any bruck", {[](N p) {
         N messages = p * ceil2(p);
         for (N d = 2; d < p; d *= 2) messages += std::min(d, p - d) - 1;
         return messages;
     }, all_pairs, ceil2}},
    {"allgatherv-any all-read-all", {all_pairs, all_pairs, one, unit}},
    {"gatherv root-reads-all", {others, others, one}},
    {"gatherv all-write-root", {others, others, one, unit}},
    {"gatherv by-levels", {others, others, one, unit}},
    {"gatherv by-levels", {others, twice_from_one_node, through_two_levels, nullptr, {}, "2x*"}},
    {"scatterv root-writes-all", {others, others, one, unit}},
    {"scatterv by-levels", {others, others, one, unit}},
    {"scatterv by-levels", {others, twice_from_one_node, through_two_levels, nullptr, {}, "2x*"}},
    {"scatterv by-levels", {[](N p) { return 2 * (p - 1); }, others, nullptr, nullptr, {.minimum = 1}, "1x*"}},
    {"reduce-scatter circulant", {nullptr, all_pairs, ceil2}},
    {"reduce-scatter circulant", {nullptr, all_pairs, nullptr, nullptr, {.degree = 4}}},
    {"reduce-scatter bine", {[](N p) { return p * floor2(p); }, all_pairs, floor2}},
    {"reduce-scatter all-read-all", {all_pairs, all_pairs, one}},
    {"reduce-scatter pairwise", {all_pairs, all_pairs, others}},
    // Blocks of different lengths are not one message until they are packed, after the first step.
    {"reduce-scatter recursive-halving", {[](N p) { return p == 1 ? 0 : p * (p / 2 + floor2(p) - 1); }, all_pairs, nullptr}},
    {"alltoall by-levels", {all_pairs, all_pairs, others}},
    // Domains of one size: half of the ranks inside, one rank of the other domain.
    {"alltoall by-levels", {[](N p) { return p % 2 || p == 2 ? all_pairs(p) : p * (p / 2); },
                            [](N p) { return p % 2 || p == 2 ? all_pairs(p) : p * (p - 2 + p / 2); },
                            [](N p) { return p % 2 || p == 2 ? others(p) : 2; }, nullptr, {}, "2x*"}},
    {"alltoallv all-write-all", {all_pairs, all_pairs, one, unit}},
    {"alltoallv bruck", {[](N p) { return p * ceil2(p); }, [](N p) { return p * ones(p); }, ceil2}},
    {"alltoallv bruck", {[](N p) { return p * digits_4(p); }, [](N p) { return p * ones_4(p); }, rounds_of_4, nullptr, {.degree = 4}}},
    {"alltoallv bruck", {all_pairs, all_pairs, one, nullptr, {.minimum = 1}}},
    {"alltoallv by-levels", {all_pairs, all_pairs, one, unit}},
    // n neighbors each: to the n - 1 others what they pass on and their own, and one along the lane.
    {"alltoallv by-levels", {[](N p) { return p % 2 ? all_pairs(p) : p * (2 * (p / 2 - 1) + 1); },
                             [](N p) { return p % 2 ? all_pairs(p) : p * (2 * (p / 2 - 1) + p / 2); },
                             [](N p) { return p % 2 || p == 2 ? one(p) : 2; }, nullptr, {}, "2x*"}},
    {"alltoallv pairwise", {all_pairs, all_pairs, others}},
    // On a ring: a message to each side.
    // On two ranks both sides are one rank, which gets the block once and then copies it.
    {"neighbor-allgather all-write-all", {[](N p) { return p == 2 ? 2 : both_sides(p); }, [](N p) { return p == 2 ? 2 : both_sides(p); }, one, [](N p) { return p == 2 ? N{2} : N{1}; }}},
    {"neighbor-allgather all-read-all", {both_sides, both_sides, one, unit}},
    {"neighbor-alltoall all-write-all", {both_sides, both_sides, one, unit}},
    {"neighbor-alltoall all-read-all", {both_sides, both_sides, one, unit}},
    {"neighbor-alltoallv all-write-all", {both_sides, both_sides, one, unit}},
};

constexpr N unit_bytes = 64;

Problem problem_for(const Algorithm& a, N size, const Parameters& parameters) {
    Problem p;
    p.operation = a.operation;
    p.size = static_cast<int>(size);
    p.parameters = parameters;
    switch (family_of(a.operation)) {
        case Family::signal: break;
        case Family::vector: p.bytes = size * unit_bytes; break;
        case Family::blocks: p.bytes = unit_bytes; break;
        case Family::blocks_v:
            if (a.operation == Operation::alltoallv)
                set_exchange(p, std::vector<N>(size * size, unit_bytes));
            else
                for (N r = 0; r < size; ++r) p.blocks.push_back({r * unit_bytes, unit_bytes});
            break;
        case Family::neighbors: set_ring(p, unit_bytes);
    }
    return p;
}

class Formulas : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Formulas, hold) {
    const Algorithm& a = *GetParam();
    const auto [first, last] = formulas.equal_range(std::string(to_string(a.operation)) + " " + std::string(a.name));
    ASSERT_NE(first, last) << "no formula";
    for (auto row = first; row != last; ++row)
        for (N size = 1; size <= 64; ++size) {
            const Formula& f = row->second;
            Problem p = problem_for(a, size, f.parameters);
            if (f.topology) p.topology = Topology::from(f.topology, static_cast<int>(size));
            if (!restriction(a, p).empty()) continue;
            const Counts c = count(schedules_of_all(a.schedule, p));
            SCOPED_TRACE(std::to_string(size) + " ranks");
            if (f.messages) { EXPECT_EQ(c.all.messages + c.all.signals, f.messages(size)); }
            EXPECT_EQ(c.all.bytes, f.bytes(size) * unit_bytes);
            if (f.depth) { EXPECT_EQ(c.depth, f.depth(size)); }
            if (f.rounds) { EXPECT_EQ(c.rounds, f.rounds(size)); }
            if (HasFailure()) return;
        }
}

// A block that is longer than the mean goes in parts, and takes no more time than the root of a broadcast.
TEST(Formulas, OfOneLongBlockAmongMany) {
    const Algorithm& a = *find_algorithm(Operation::allgatherv, "circulant");
    for (N size = 2; size <= 64; ++size) {
        Problem p = problem_for(a, size, {.minimum = unit_bytes});
        const N length = 16 * unit_bytes, mean = (length + (size - 1) * unit_bytes) / size, parts = length / mean;
        p.blocks[size / 3].bytes = length;
        for (N r = 1; r < size; ++r) p.blocks[r].offset = p.blocks[r - 1].offset + p.blocks[r - 1].bytes;
        const Counts c = count(schedules_of_all(a.schedule, p));
        EXPECT_EQ(c.all.bytes, (size - 1) * (length + (size - 1) * unit_bytes)) << size;
        EXPECT_EQ(c.rounds, 1 + parts - 1 + ceil2(size)) << size;
    }
}

std::vector<const Algorithm*> all_algorithms() {
    std::vector<const Algorithm*> result;
    for (const Algorithm& a : algorithms()) result.push_back(&a);
    return result;
}

INSTANTIATE_TEST_SUITE_P(every, Formulas, testing::ValuesIn(all_algorithms()), [](const auto& info) {
    std::string name = std::string(to_string(info.param->operation)) + "_" + std::string(info.param->name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace fanlight
