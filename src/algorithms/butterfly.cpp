#include "algorithms/butterfly.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/blocks.h"
#include "algorithms/fold.h"

namespace fanlight {

PackedParts::PackedParts(const Problem& problem, const Butterfly& butterfly)
    : butterfly_(butterfly), rank_(problem.rank), size_(problem.size), starts_(static_cast<std::size_t>(problem.size) + 1, 0) {
    for (int r = 0; r < size_; ++r) starts_[static_cast<std::size_t>(butterfly.part(r)) + 1] = problem.block(r).bytes;
    for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
}

std::size_t PackedParts::bytes(int first, int count) const { return starts_[static_cast<std::size_t>(first + count)] - starts_[static_cast<std::size_t>(first)]; }

PackedParts::Step PackedParts::step(int k) const {
    const int width = size_ >> (k + 1), lower = butterfly_.part(rank_) / (2 * width) * 2 * width;
    const Block low{bytes(0, lower), bytes(lower, width)}, high{bytes(0, lower + width), bytes(lower + width, width)};
    const bool upper = butterfly_.upper(k, rank_);
    return {butterfly_.partner(k, rank_), upper ? high : low, upper ? low : high};
}

Schedule halve_and_double(const Problem& problem, bool bine) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    if (problem.size == 1) {
        b.copy(input(), output(), bytes);
        return b.finish();
    }
    const Fold fold(problem.size);
    // Sums that are not complete; output takes what is complete alone, since a partner may bring
    // that while this rank still sends the sum.  The first reservation on all ranks.
    const Address sums = b.reserve(fold.folded(rank) ? 0 : bytes);
    if (fold.folded(rank)) {
        b.put(rank + 1, input(), sums, bytes);
        b.next_round();
        b.arrive(rank + 1, output(), bytes);
        return b.finish();
    }
    if (fold.in_pair(rank)) {
        b.arrive(rank - 1, sums, bytes);
        b.next_round();
        b.combine(input(), sums, bytes, Order::after);
        b.next_round();
    }

    Problem dealt = problem;  // among those that take part
    dealt.size = fold.count;
    std::size_t longest = 0;
    for (int i = 0; i < fold.count; ++i) longest = std::max(longest, part(dealt, i).bytes);
    const int number = fold.number(rank);
    struct Half {
        int partner;
        Block mine, theirs;
    };
    std::vector<Half> halves;
    int first = 0;  // of the parts that this rank is responsible for
    const Butterfly butterfly(fold.count, bine);
    for (int k = 0, width = fold.count / 2; k < butterfly.steps(); ++k, width /= 2) {
        const bool upper = butterfly.upper(k, number);
        const int partner = fold.rank(butterfly.partner(k, number));
        const Block mine = parts(dealt, first + (upper ? width : 0), width);
        const Block theirs = parts(dealt, first + (upper ? 0 : width), width);
        halves.push_back({partner, mine, theirs});
        if (upper) first += width;

        // What comes first to a rank's free memory takes in the rank's own there, without a copy;
        // else it waits in a slot, where the partner of another step cannot come.
        const Address slot = b.reserve(longest * static_cast<std::size_t>(width));
        const auto has_sums = [&](int r) { return k > 0 || fold.in_pair(r); };
        const auto place = [&](int r, const Block& half) {
            return width == 1 ? output(half.offset) : has_sums(r) ? slot : sums + half.offset;
        };
        const Address own = has_sums(rank) ? sums : input();
        const Address arrived = place(rank, mine);
        b.put(partner, own + theirs.offset, place(partner, theirs), theirs.bytes);
        b.arrive(partner, arrived, mine.bytes);
        b.next_round();
        const bool partner_first = partner < rank;
        if (arrived == slot)
            b.combine(slot, sums + mine.offset, mine.bytes, partner_first ? Order::before : Order::after);
        else
            b.combine(own + mine.offset, arrived, mine.bytes, partner_first ? Order::after : Order::before);
        b.next_round();
    }
    for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
        b.put(half->partner, output(half->mine.offset), output(half->mine.offset), half->mine.bytes);
        b.arrive(half->partner, output(half->theirs.offset), half->theirs.bytes);
        b.next_round();
    }
    if (fold.in_pair(rank)) b.put(rank - 1, output(), output(), bytes);
    return b.finish();
}

Tree bine_tree(int rank, int size, int root) {
    const Fold fold(size);
    const Butterfly butterfly(fold.count, true);
    // As seen from the root, which takes part for itself or a pair.
    const int shift = fold.rank(0) - root;
    const auto seen = [&](int r) { return (r + shift + size) % size; };
    const auto real = [&](int r) { return (r - shift + size) % size; };
    // Of a number with all that come to it in the steps before k: an interval, around behind the last one.
    const auto subtree = [&](int n, int k) {
        int first = n;
        for (int j = 0; j < k; ++j)
            if (j % 2 != n % 2) first -= 1 << j;  // there partners are below
        first &= fold.count - 1;
        const int end = first + (1 << k), begin = fold.first(first);
        const int count = end <= fold.count ? fold.first(end) - begin : size - begin + fold.first(end - fold.count);
        return Subtree{real(fold.rank(n)), real(begin), count};
    };
    const int own = seen(rank), number = fold.number(own);
    Tree t;
    std::vector<Subtree> children;
    std::vector<std::pair<int, int>> has{{0, butterfly.steps()}};  // with the steps that are left for them
    t.own = subtree(0, butterfly.steps());
    for (int k = butterfly.steps(); k-- > 0;)
        for (std::size_t i = 0, end = has.size(); i < end; ++i) {
            const auto [from, left] = has[i];
            const int to = butterfly.partner(k, from);
            has.emplace_back(to, k);
            if (from == number) children.push_back(subtree(to, k));
            if (to != number) continue;
            t.own = subtree(to, k);
            t.parents = subtree(from, left);
            t.parent = t.parents.rank;
        }
    if (fold.folded(own)) {
        t.parents = std::exchange(t.own, Subtree{rank, rank, 1});
        t.parent = t.parents.rank;
        return t;
    }
    if (fold.in_pair(own)) t.children.push_back({real(own - 1), real(own - 1), 1});
    t.children.insert(t.children.end(), children.rbegin(), children.rend());
    return t;
}

}  // namespace fanlight
