// Neighborhoods for the tests.
#pragma once

#include "schedule/all_ranks.h"

namespace fanlight::graphs {

enum Kind { ring, grid, torus, directed, star, empty, kinds };

// `bytes` along each edge, as far as the operation lets lengths differ multiples of it.
inline void set(Problem& whole, Kind kind, std::size_t bytes, std::size_t gap = 0) {
    const int size = whole.size;
    std::vector<Edge> edges;
    const auto edge = [&](int from, int to, std::size_t number) {
        const std::size_t times = whole.operation == Operation::neighbor_allgather   ? static_cast<std::size_t>(from % 3)
                                  : whole.operation == Operation::neighbor_alltoallv ? (number * 3 + static_cast<std::size_t>(from)) % 4
                                                                                     : 1;
        edges.push_back({.from = from, .to = to, .bytes = times * bytes});
    };
    // Three dimensions, of which the first two have one or two ranks where `size` is even.
    const int sides[] = {1, size % 2 == 0 ? 2 : 1, size % 2 == 0 ? size / 2 : size};
    for (int r = 0; r < size; ++r) {
        const std::size_t n = edges.size();
        if (kind == ring) {
            edge(r, (r + size - 1) % size, n);
            edge(r, (r + 1) % size, n + 1);
        } else if (kind == grid) {
            if (r > 0) edge(r, r - 1, n);
            if (r + 1 < size) edge(r, r + 1, n + 1);
        } else if (kind == torus) {
            int stride = size;
            for (int d = 0; d < 3; ++d) {
                stride /= sides[d];
                const int at = r / stride % sides[d];
                for (int step : {sides[d] - 1, 1}) edge(r, r + ((at + step) % sides[d] - at) * stride, edges.size());
            }
        } else if (kind == directed) {
            // Some ranks have no targets, some edges are there several times, some lead back.
            for (int k = 0; k < r * 5 % 8; ++k) edge(r, k < 3 ? (r * 7 + k * k * 5) % size : (r * 7) % size, edges.size());
        } else if (kind == star && r > 0) {
            edge(0, r, n);
            edge(r, 0, n + 1);
        }
    }
    set_edges(whole, std::move(edges), gap);
}

}  // namespace fanlight::graphs
