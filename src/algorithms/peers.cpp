#include "algorithms/peers.h"

namespace fanlight {

std::vector<int> others(const Problem& problem) {
    std::vector<int> result;
    const int n = problem.size - 1;
    for (int i = 0; i < n; ++i) {
        const int distance = 1 + (i + problem.parameters.shift % n) % n;
        result.push_back((problem.rank + distance) % problem.size);
    }
    return result;
}

void combine_in_rank_order(Builder& b, const Problem& problem, const Operands& operands,
                           Address to) {
    const auto& [end, own, theirs, offer, bytes] = operands;
    if (end == 0) {  // exscan's rank 0
        b.next_round();
        return;
    }
    int next = 1;  // the first rank whose operand is not in `to` yet
    if (problem.rank != 0) {
        b.get(0, offer(0), theirs, to, bytes);
    } else if (end == 1) {
        b.copy(own, to, bytes);
    } else {
        b.get(1, offer(1), theirs, to, bytes);
        b.next_round();
        b.combine(own, to, bytes, Order::before);
        next = 2;
    }
    b.next_round();
    for (; next < end; ++next) {
        if (next == problem.rank) {
            b.combine(own, to, bytes, Order::after);
        } else {
            b.get(next, offer(next), theirs, to, bytes, Order::after);
        }
        b.next_round();
    }
}

}  // namespace fanlight
