#include "algorithms/pieces.h"

#include <algorithm>

namespace fanlight {

void put_in_pieces(Builder& b, const Problem& problem, std::span<const PutEdge> all) {
    const std::size_t piece = problem.parameters.piece;
    int turns = 0;
    for (const PutEdge& p : all) turns = std::max(turns, p.turn + 1);
    for (int turn = 0; turn < turns; ++turn)
        for (std::size_t begin = 0, more = 1; more; begin += piece) {
            const auto for_each = [&](bool from_here, auto&& step) {
                for (const PutEdge& p : all) {
                    const bool ended = begin > 0 && p.edge.bytes <= begin;
                    if (p.turn != turn || (p.edge.from == problem.rank) != from_here || ended) continue;
                    const std::size_t left = p.edge.bytes - begin;
                    step(p.edge, piece ? std::min(piece, left) : left);
                    more |= piece && left > piece;
                }
            };
            more = 0;
            for_each(true, [&](const Edge& e, std::size_t bytes) { b.put(e.to, input(e.sent + begin), unknown(), bytes); });
            for_each(false, [&](const Edge& e, std::size_t bytes) { b.arrive(e.from, output(e.taken + begin), bytes); });
            b.next_round();
        }
}

}  // namespace fanlight
