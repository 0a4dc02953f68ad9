// What the formulas of algorithms' costs are made of.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace fanlight::formulas {

using N = std::size_t;

// P ranks: log2 P, rounded down and up; how many are beyond the largest power of two.
inline N floor2(N p) { return static_cast<N>(std::bit_width(p)) - 1; }
inline N ceil2(N p) { return static_cast<N>(std::bit_width(p - 1)); }
inline N power(N p) { return std::bit_floor(p); }
inline N beyond(N p) { return p - power(p); }
inline N folding(N p) { return beyond(p) > 0 ? 2 : 0; }  // rounds of the fold
// The longest way from rank to rank through the fold and the exchanges: from a folded rank to one
// that differs from its partner in all digits, or to another folded one.
inline N folded_depth(N p) {
    return beyond(p) == 0 ? floor2(p) : std::max(floor2(p) + 1, ceil2(beyond(p)) + 2);
}
// Of ranks 0 .. P - 1: the ones in their binary digits; the sum of all subtrees below a binomial
// tree's root, since a rank lies in as many of them as it has ones.
inline N ones(N p) {
    N sum = 0;
    for (N r = 0; r < p; ++r) sum += static_cast<N>(std::popcount(r));
    return sum;
}
// The height of a tree of degree k: the most digits to base k that are not zero.
inline N height(N k, N p) {
    if (k == 1) return p - 1;
    N highest = 0;
    for (N r = 0; r < p; ++r) {
        N digits = 0;
        for (N rest = r; rest > 0; rest /= k) digits += rest % k != 0;
        highest = std::max(highest, digits);
    }
    return highest;
}
// P - d over d = 1, 2, 4 ... below P.
inline N doubling(N p) {
    N sum = 0;
    for (N d = 1; d < p; d *= 2) sum += p - d;
    return sum;
}
// The same over 1, 2, and without rank 0 over 3, 6, 12 ...
inline N doubling_123(N p) {
    N sum = p - 1 + (p > 2 ? p - 2 : 0);
    for (N d = 3; d < p - 1; d *= 2) sum += p - 1 - d;
    return sum;
}
// To the base of 4: over the places of P - 1 the digits that ranks have there, but for 0; over all ranks their digits that are not 0.
inline N rounds_of_4(N p) {
    N n = 0;
    for (N d = 1; d < p; d *= 4) ++n;
    return n;
}
inline N digits_4(N p) {
    N sum = 0;
    for (N d = 1; d < p; d *= 4) sum += std::min(N{3}, (p - 1) / d);
    return sum;
}
inline N ones_4(N p) {
    N sum = 0;
    for (N r = 0; r < p; ++r)
        for (N rest = r; rest > 0; rest /= 4) sum += rest % 4 != 0;
    return sum;
}
inline N all_pairs(N p) { return p * (p - 1); }
inline N both_sides(N p) { return p > 1 ? 2 * p : 0; }
inline N others(N p) { return p - 1; }
inline N one(N p) { return p > 1; }
inline N two(N p) { return p > 1 ? 2 : 0; }
inline N unit(N) { return 1; }

// How many steps lead from 0 to n in Bine's tree of 2^s: the ones of h ^ h / 2, h the digits of n to base -2.
inline N steps_in_bine(N n, N s) {
    constexpr N minus = 0xAAAAAAAA;  // where digits count less than nothing
    const N greatest = ((N{1} << s) - 1) & ~minus, h = (((n <= greatest ? n : n - (N{1} << s)) + minus) ^ minus) & ((N{1} << s) - 1);
    return static_cast<N>(std::popcount(h ^ h >> 1));
}
// Of all ranks, the first numbers standing for two of which one has a step more; and the most of one.
inline N ways_in_bine(N p) {
    N all = beyond(p);
    for (N n = 0; n < power(p); ++n) all += steps_in_bine(n, floor2(p)) * (n < beyond(p) ? 2 : 1);
    return all;
}
inline N longest_in_bine(N p) {
    N longest = 0;
    for (N n = 0; n < power(p); ++n) longest = std::max(longest, steps_in_bine(n, floor2(p)) + (n < beyond(p) ? 1 : 0));
    return longest;
}

}  // namespace fanlight::formulas
