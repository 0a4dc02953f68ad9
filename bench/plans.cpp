// What a call of a new kind costs before it begins: the time to plan it, by the algorithm that the built-in rules choose
// on one node.  Calls of a kind that was there before take their plan from a table.
//
//   fanlight-plans [--operation NAME] [--levels TEXT] [--staged] [RANKS ...]
//       by default 32 128 512: a table of µs and, in brackets, steps.  Of each operation and length it is the least of 5
//       times, for the slowest of the ranks 0, which is the root, and the one in the middle.
//       --levels: the topology, as "2x4x*"; --staged: nothing is copied once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "execute/group.h"
#include "schedule/all_ranks.h"
#include "select/select.h"

using namespace fanlight;

namespace {

constexpr std::size_t sizes[] = {8, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20};

// The edges of this rank, each way to so many others.
std::vector<Edge> edges_of(int rank, int ranks, int others, std::size_t bytes) {
    std::vector<Edge> edges;
    for (int i = 1; i <= others; ++i) {
        const auto k = static_cast<std::size_t>(i - 1);
        edges.push_back({.from = rank, .to = (rank + i) % ranks, .bytes = bytes, .sent = k * bytes});
        edges.push_back({.from = (rank + ranks - i) % ranks, .to = rank, .bytes = bytes, .taken = k * bytes});
    }
    return edges;
}

Problem problem(Operation operation, int rank, int ranks, int neighbors, const Topology& topology, std::size_t bytes) {
    Problem p;
    p.operation = operation;
    p.rank = rank;
    p.size = ranks;
    p.element = 8;
    p.topology = topology;
    if (family_of(operation) == Family::neighbors) {
        p.edges = edges_of(rank, ranks, neighbors, bytes);
        if (operation == Operation::neighbor_allgather)
            for (Edge& e : p.edges) e.sent = 0;
        if (operation != Operation::neighbor_alltoallv) p.bytes = bytes;
        return p;
    }
    if (family_of(operation) != Family::blocks_v) {
        p.bytes = bytes;
        return p;
    }
    const bool knows_all = !lengths_are_unknown(operation) || operation == Operation::alltoallv || rank == p.root;
    for (int r = 0; r < ranks; ++r) p.blocks.push_back({static_cast<std::size_t>(r) * bytes, knows_all || r == rank ? bytes : 0});
    if (operation == Operation::alltoallv) p.sends = p.blocks;
    return p;
}

struct Planned {
    double us = 0;
    std::size_t steps = 0;
};

Planned time_plan(const Group& group, const Algorithm& algorithm, const Problem& p, MostNeighbors most) {
    Planned result{1e9, 0};
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const Plan plan = group.plan(algorithm, p, {}, most);
        result.us = std::min(result.us, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        result.steps = 0;
        for (const Plan::Part& part : plan.parts) result.steps += part.schedule.steps.size();
    }
    return result;
}

void time_operation(Operation o, int neighbors, int ranks, const Topology& topology, bool single_copy, const std::vector<std::unique_ptr<Group>>& groups) {
    static const Selector rules("", "");
    std::string name(to_string(o));
    if (neighbors) name += ", " + std::to_string(neighbors) + " each";
    std::printf("%-28s", name.c_str());
    for (const std::size_t s : sizes) {
        Situation situation;
        situation.operation = o;
        situation.bytes = lengths_are_unknown(o) ? 0 : s;
        situation.ranks = ranks;
        situation.single_copy = single_copy;
        situation.topology = topology;
        const Choice choice = rules.choose(situation);
        const MostNeighbors most{static_cast<std::size_t>(neighbors), static_cast<std::size_t>(neighbors)};
        if (!choice.algorithm || (lengths_are_unknown(o) && !groups[0]->plans_any(*choice.algorithm, {}, most))) {
            std::printf(" %31s", "native");
            continue;
        }
        Planned worst;
        bool has_room = true;
        for (const auto& group : groups) {
            Problem p = problem(o, group->rank(), ranks, neighbors, topology, s);
            p.parameters = choice.parameters;
            try {
                const Planned planned = time_plan(*group, *choice.algorithm, p, most);
                if (planned.us > worst.us) worst = planned;
            } catch (const std::invalid_argument&) {
                has_room = false;
            }
        }
        if (!has_room) {
            std::printf(" %18.18s %12s", choice.algorithm->name.data(), "no room");
            continue;
        }
        std::printf(" %18.18s %5.0f (%4zu)", choice.algorithm->name.data(), worst.us, worst.steps);
        if (family_of(o) == Family::signal) break;
    }
    std::printf("\n");
}

void time_plans(int ranks, const std::string& only, const std::string& levels, bool single_copy) {
    const std::size_t bytes = Group::segment_bytes(ranks);
    const std::unique_ptr<std::byte, decltype(&std::free)> segment(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), std::free);
    const Topology topology = levels.empty() ? Topology() : Topology::from(levels, ranks);
    std::vector<std::unique_ptr<Group>> groups;
    for (const int rank : {0, ranks / 2})
        groups.push_back(std::make_unique<Group>(std::span{segment.get(), bytes}, rank, ranks, single_copy, Waiter::Hooks{}, ranks, ranks));
    std::printf("%-28s", (std::to_string(ranks) + " ranks, bytes").c_str());
    for (const std::size_t s : sizes) std::printf(" %31zu", s);
    std::printf("\n");
    for (std::size_t i = 0; i < operation_count(); ++i) {
        const auto o = static_cast<Operation>(i);
        if (!only.empty() && only != to_string(o)) continue;
        if (family_of(o) != Family::neighbors) {
            time_operation(o, 0, ranks, topology, single_copy, groups);
            continue;
        }
        for (const int neighbors : {std::min(26, ranks - 1), ranks - 1}) time_operation(o, neighbors, ranks, topology, single_copy, groups);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
    std::vector<int> ranks;
    std::string operation, levels;
    bool single_copy = true;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--staged")) single_copy = false;
        else if (!std::strcmp(argv[i], "--levels") && i + 1 < argc) levels = argv[++i];
        else if (!std::strcmp(argv[i], "--operation") && i + 1 < argc) operation = argv[++i];
        else if (ranks.push_back(std::atoi(argv[i])); ranks.back() < 2)
            return std::fprintf(stderr, "fanlight-plans: %s? --operation NAME --levels TEXT --staged RANKS ..., of 2 ranks and more\n", argv[i]), 2;
    }
    if (ranks.empty()) ranks = {32, 128, 512};
    for (const int n : ranks) time_plans(n, operation, levels, single_copy);
}
