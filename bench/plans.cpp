// What a call of a new kind costs before it begins: the time to plan it, by the algorithm that the built-in rules choose
// on one node, for one rank in the middle.  Calls of a kind that was there before take their plan from a table.
//
//   fanlight-plans [RANKS ...]      by default 32 128 512: a table of the least of 5 times in µs
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "execute/group.h"
#include "select/select.h"

using namespace fanlight;

namespace {

constexpr std::size_t sizes[] = {8, 1 << 10, 16 << 10, 256 << 10, 4 << 20};

Problem problem(Operation operation, int ranks, std::size_t bytes) {
    Problem p;
    p.operation = operation;
    p.rank = ranks / 2;
    p.size = ranks;
    p.bytes = bytes;
    p.element = 8;
    for (int r = 0; family_of(operation) == Family::blocks_v && r < ranks; ++r) p.blocks.push_back({static_cast<std::size_t>(r) * bytes, bytes});
    return p;
}

void time_plans(int ranks) {
    const std::size_t bytes = Group::segment_bytes(ranks);
    const std::unique_ptr<std::byte, decltype(&std::free)> segment(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), std::free);
    const Selector rules("", "");
    const Group group({segment.get(), bytes}, ranks / 2, ranks, true, Waiter::Hooks{}, ranks, ranks);
    std::printf("%-22s", (std::to_string(ranks) + " ranks, bytes").c_str());
    for (const std::size_t s : sizes) std::printf(" %30zu", s);
    std::printf("\n");
    for (const Operation o : {Operation::barrier, Operation::bcast, Operation::reduce, Operation::allreduce, Operation::scan, Operation::exscan, Operation::allgather,
                              Operation::allgatherv, Operation::gather, Operation::scatter, Operation::alltoall, Operation::reduce_scatter_block,
                              Operation::reduce_scatter}) {
        std::printf("%-22s", to_string(o).data());
        for (const std::size_t s : sizes) {
            Problem p = problem(o, ranks, s);
            const Choice choice = rules.choose({.operation = o, .bytes = s, .ranks = ranks});
            if (!choice.algorithm) {
                std::printf(" %30s", "native");
                continue;
            }
            p.parameters = choice.parameters;
            double least = 1e9;
            for (int i = 0; i < 5; ++i) {
                const auto begin = std::chrono::steady_clock::now();
                const Plan plan = group.plan(*choice.algorithm, p);
                least = std::min(least, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
            }
            std::printf(" %23s %6.0f", std::string(choice.algorithm->name).c_str(), least);
            if (family_of(o) == Family::signal) break;
        }
        std::printf("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<int> ranks;
    for (int i = 1; i < argc; ++i) ranks.push_back(std::atoi(argv[i]));
    if (ranks.empty()) ranks = {32, 128, 512};
    for (const int n : ranks) {
        if (n < 2) return std::fprintf(stderr, "fanlight-plans: numbers of ranks from 2 on\n"), 2;
        time_plans(n);
    }
}
