// What a call of a new kind costs before it begins: the time to plan it, by the algorithm that the built-in rules choose
// on one node.  Calls of a kind that was there before take their plan from a table.
//
//   fanlight-plans [--operation NAME] [--bytes N] [--algorithm TEXT] [--levels TEXT] [--nodes] [--staged] [RANKS ...]
//       by default 32 128 512: a table of µs and, in brackets, steps.  Of each operation and length it is the least of 5
//       times, for the slowest of the ranks 0, which is the root, and the one in the middle.
//       --bytes: of this length alone; --algorithm: other ones than the rules', as FANLIGHT_ALGORITHM has them
//       --levels: the topology, as "2x4x*"; --nodes: its outermost domains are nodes; --staged: nothing is copied once
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

#include "algorithms/level_names.h"
#include "execute/group.h"
#include "select/select.h"
#include "transport/remote.h"

using namespace fanlight;

namespace {

// What is planned.
struct Options {
    std::string operation, algorithm, levels;
    bool nodes = false, single_copy = true;
    std::vector<std::size_t> sizes{8, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20};
};

// Over which nothing is sent.
class Messages : public RemoteTransport {
    RemoteRoom room() const override { return {}; }
    void begin() override {}
    void send(const RemoteMessage&, const std::byte*) override {}
    void receive(const RemoteMessage&, std::byte*) override {}
    bool round_over(std::uint32_t) override { return true; }
    bool operation_over(std::uint32_t) override { return true; }
    std::size_t operations_in_flight() const override { return 16; }
};

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

Planned time_plan(const Group& group, const Algorithm& algorithm, const Problem& p, const Reach& reach, MostNeighbors most) {
    Planned result{1e9, 0};
    for (int i = 0; i < 5; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const Plan plan = group.plan(algorithm, p, reach, most);
        result.us = std::min(result.us, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        result.steps = 0;
        for (const Plan::Part& part : plan.parts) result.steps += part.schedule.steps.size();
    }
    return result;
}

// The ranks for which it is planned.
struct Ranks {
    int number;
    Topology topology;
    Reach reach;
    std::vector<int> some{0, number / 2};
    std::vector<std::unique_ptr<Group>> groups{};
};

void time_operation(const Options& options, const Selector& rules, Operation o, int neighbors, const Ranks& ranks) {
    std::string name(to_string(o));
    if (neighbors) name += ", " + std::to_string(neighbors) + " each";
    std::printf("%-28s", name.c_str());
    for (const std::size_t s : options.sizes) {
        Situation situation;
        situation.operation = o;
        situation.bytes = lengths_are_unknown(o) ? 0 : s;
        situation.ranks = ranks.number;
        situation.single_copy = options.single_copy;
        situation.topology = ranks.topology;
        if (options.nodes) {
            const Domains& nodes = *ranks.reach.nodes;
            situation.nodes = nodes.count();
            Problem p = problem(o, 0, ranks.number, neighbors, ranks.topology, s);
            situation.by_levels = goes_by_levels(p, nodes);
            situation.lanes = goes_in_lanes(p, nodes);
        }
        const Choice choice = rules.choose(situation);
        const MostNeighbors most{static_cast<std::size_t>(neighbors), static_cast<std::size_t>(neighbors)};
        if (!choice.algorithm || (lengths_are_unknown(o) && !ranks.groups[0]->plans_any(*choice.algorithm, ranks.reach, most))) {
            std::printf(" %31s", "native");
            continue;
        }
        Planned worst;
        bool has_room = true;
        for (std::size_t i = 0; i < ranks.some.size(); ++i) {
            Problem p = problem(o, ranks.some[i], ranks.number, neighbors, ranks.topology, s);
            p.parameters = choice.parameters;
            try {
                const Planned planned = time_plan(*ranks.groups[i], *choice.algorithm, p, ranks.reach, most);
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

void time_plans(const Options& options, int number) {
    const Selector rules(options.algorithm, "");
    Ranks ranks{number, options.levels.empty() ? Topology() : Topology::from(options.levels, number), {}};
    if (options.nodes) ranks.reach = {.nodes = &ranks.topology.level(0), .single_copy = options.single_copy};
    const std::size_t bytes = Group::segment_bytes(number);
    const std::unique_ptr<std::byte, decltype(&std::free)> segment(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), std::free);
    for (const int rank : ranks.some) {
        const Domains* nodes = ranks.reach.nodes;
        const int near = nodes ? static_cast<int>(nodes->members(nodes->of(rank)).size()) : number;
        ranks.groups.push_back(std::make_unique<Group>(std::span{segment.get(), bytes}, ranks.reach.local(rank), near, options.single_copy, Waiter::Hooks{}, near, near));
        if (nodes) ranks.groups.back()->reach_by(Transport::message, std::make_shared<Messages>());
    }
    std::printf("%-28s", (std::to_string(number) + " ranks, bytes").c_str());
    for (const std::size_t s : options.sizes) std::printf(" %31zu", s);
    std::printf("\n");
    for (std::size_t i = 0; i < operation_count(); ++i) {
        const auto o = static_cast<Operation>(i);
        if (!options.operation.empty() && options.operation != to_string(o)) continue;
        if (family_of(o) != Family::neighbors) {
            time_operation(options, rules, o, 0, ranks);
            continue;
        }
        for (const int neighbors : {std::min(26, number - 1), number - 1}) time_operation(options, rules, o, neighbors, ranks);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
    std::vector<int> ranks;
    Options options;
    for (int i = 1; i < argc; ++i) {
        const auto has_value = [&](const char* option) { return !std::strcmp(argv[i], option) && i + 1 < argc; };
        if (!std::strcmp(argv[i], "--staged")) options.single_copy = false;
        else if (!std::strcmp(argv[i], "--nodes")) options.nodes = true;
        else if (has_value("--levels")) options.levels = argv[++i];
        else if (has_value("--operation")) options.operation = argv[++i];
        else if (has_value("--algorithm")) options.algorithm = argv[++i];
        else if (has_value("--bytes")) options.sizes = {std::strtoul(argv[++i], nullptr, 10)};
        else if (ranks.push_back(std::atoi(argv[i])); ranks.back() < 2)
            return std::fprintf(stderr, "fanlight-plans: %s? --operation NAME --bytes N --algorithm TEXT --levels TEXT --nodes --staged RANKS ..., of 2 ranks and more\n", argv[i]), 2;
    }
    if (options.nodes && options.levels.empty()) return std::fprintf(stderr, "fanlight-plans: --nodes needs --levels\n"), 2;
    if (ranks.empty()) ranks = {32, 128, 512};
    for (const int n : ranks) time_plans(options, n);
}
