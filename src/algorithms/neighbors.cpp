#include "algorithms/neighbors.h"

#include <algorithm>
#include <vector>

namespace fanlight {

namespace {

// So many long puts from one rank to one other may be in flight at a time (transport/shared.h).
constexpr int at_once = 4;

bool is_own(const Edge& e) { return e.from == e.to; }

struct PutEdge {
    const Edge* edge;
    int turn;  // edges between the same two ranks take turns, `at_once` of them at a time
};

// In an allgather several edges between the same two ranks bring the same block: all but the first one copy it there.
const Edge* first_alike(const Problem& problem, const Edge& e) {
    if (problem.operation != Operation::neighbor_allgather) return &e;
    return &*std::ranges::find_if(problem.edges, [&](const Edge& o) { return o.from == e.from && o.to == e.to && o.bytes == e.bytes; });
}

std::vector<PutEdge> in_turns(const Problem& problem, bool (*is_read)(const Edge&, const Problem&)) {
    std::vector<PutEdge> result;
    for (const Edge& e : problem.edges) {
        if (is_own(e) || e.bytes == 0 || (is_read && is_read(e, problem)) || first_alike(problem, e) != &e) continue;
        const auto before = std::count_if(result.begin(), result.end(), [&](const PutEdge& p) {
            return p.edge->from == e.from && p.edge->to == e.to;
        });
        result.push_back({&e, static_cast<int>(before) / at_once});
    }
    return result;
}

}  // namespace

void copy_own_edges(Builder& b, const Problem& problem) {
    for (const Edge& e : problem.edges)
        if (is_own(e) && e.bytes > 0) b.copy(input(e.sent), output(e.taken), e.bytes);
}

void put_edges(Builder& b, const Problem& problem, bool (*is_read)(const Edge&, const Problem&)) {
    const std::vector<PutEdge> all = in_turns(problem, is_read);
    int turns = 0;
    for (const PutEdge& p : all) turns = std::max(turns, p.turn + 1);
    for (int turn = 0; turn < turns; ++turn) {
        for (const auto& [edge, of] : all) {
            if (of != turn) continue;
            if (edge->from == problem.rank) b.put(edge->to, input(edge->sent), unknown(), edge->bytes);
            else b.arrive(edge->from, output(edge->taken), edge->bytes);
        }
        b.next_round();
    }
    for (const Edge& e : problem.edges)
        if (const Edge* const first = first_alike(problem, e); e.to == problem.rank && !is_own(e) && e.bytes > 0 && first != &e && !(is_read && is_read(e, problem)))
            b.copy(output(first->taken), output(e.taken), e.bytes);
}

bool edge_is_read(const Edge& e, const Problem& problem) {
    const Parameters& parameters = problem.parameters;
    if (problem.topology.levels() > 0 && !problem.topology.level(0).share(e.from, e.to)) return false;
    return e.bytes > 0 && e.bytes >= parameters.minimum && (parameters.piece == 0 || e.bytes <= parameters.piece);
}

void read_edges(Builder& b, const Problem& problem) {
    std::vector<int> readers;
    std::size_t begin = 0, end = 0;
    for (const Edge& e : problem.edges) {
        if (e.from != problem.rank || is_own(e) || !edge_is_read(e, problem)) continue;
        begin = readers.empty() ? e.sent : std::min(begin, e.sent);
        end = std::max(end, e.sent + e.bytes);
        if (std::find(readers.begin(), readers.end(), e.to) == readers.end()) readers.push_back(e.to);
    }
    constexpr int only = 0;
    if (!readers.empty()) b.offer(input(begin), end - begin, readers);
    for (const Edge& e : problem.edges)
        if (e.to == problem.rank && !is_own(e) && edge_is_read(e, problem))
            b.get(e.from, only, input(e.sent), output(e.taken), e.bytes);
}

}  // namespace fanlight
