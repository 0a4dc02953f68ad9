// What a byte holds, as a term: a byte of a rank's input, or two terms combined.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace fanlight::symbolic {

using Term = std::uint32_t;
inline constexpr Term no_term = UINT32_MAX;

// A piece of a buffer: the byte at b holds the term at position b + shift.  For the input of
// a rank the position is the offset in that input, so that moved data is a changed shift
// and a range of any length is one piece.
struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
    Term term = no_term;
    std::int64_t shift = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
};

// All terms of one run.  Equal terms have equal numbers, so that two ranks hold the same
// bits when they hold the same number.
class Terms {
public:
    // The inputs of `ranks` ranks in each of `calls` calls are there from the start.
    Terms(int ranks, int calls);

    Term input(int rank, int call) const { return static_cast<Term>(call * ranks_ + rank); }
    bool is_input(Term t) const { return t < inputs_; }
    // left at position p combined with right at position p + shift, in this order.
    Term combined(Term left, Term right, std::int64_t shift);

    // Empty if the term combines each of the inputs of ranks [first, last) of this call
    // exactly once and at the same position, if `in_order` from the lowest rank to the
    // highest; else what is wrong.
    std::string mismatch(Term, int first, int last, int call, bool in_order);

    // "((0+1)+2)", shortened if it is longer than this.
    std::string text(Term, std::size_t longest = 120) const;

private:
    struct Node {
        Term left;
        Term right;
        std::int64_t shift;
        std::uint64_t leaves;  // inputs below, counted as often as they occur
        bool aligned;          // no shift other than 0 below
        friend bool operator==(const Node& a, const Node& b) {
            return a.left == b.left && a.right == b.right && a.shift == b.shift;
        }
    };
    struct Hash {
        std::size_t operator()(const Node&) const;
    };
    const Node& node(Term t) const { return nodes_[t - inputs_]; }
    std::uint64_t leaves(Term t) const { return is_input(t) ? 1 : node(t).leaves; }
    bool aligned(Term t) const { return is_input(t) || node(t).aligned; }
    std::string find_mismatch(Term, int first, int last, int call, bool in_order) const;
    std::string name(Term leaf) const;

    int ranks_;
    Term inputs_;
    std::vector<Node> nodes_;
    std::unordered_map<Node, Term, Hash> known_;
    // Terms that mismatch() has already found to be right: for which ranks and call.
    struct Checked {
        int first = 0, last = 0, call = -1;
    };
    std::unordered_map<Term, Checked> checked_;
};

}  // namespace fanlight::symbolic
