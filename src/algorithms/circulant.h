// Rank r meets the ranks r + s and r - s for a few distances s ("skips"): a circulant graph, for any number of ranks.
#pragma once

#include <vector>

#include "schedule/builder.h"

namespace fanlight {

// Parameters::degree, or 2.
int degree_of(const Problem&);

// P, ceil(P / k), ... until 1, k the degree: 13 ranks, degree 2: 13 7 4 2 1.
std::vector<int> skips(int size, int degree);

// 1, k, k^2 ... below P, k the degree: a rank that has what came from the d ranks next to it hears
// from those at d, 2 d ... (k - 1) d and has it of k d.
std::vector<int> powers(const Problem&);
// The multiples of d among these distances.
std::vector<int> multiples(const Problem&, int d);

// A reduce_scatter of the input's blocks, or of a vector's parts, in as many steps: before the one from skip t to s
// rank r has sums of the t blocks from its own on; it gives rank r + s those from s on, r + 2 s those from 2 s on, and
// so on, each at most s, and combines those from its own on that come from r - s, r - 2 s.  The own block's sum goes to
// `result`.  Operators that commute.
void reduce_circulant(Builder&, const Problem&, Address result);
// Back: rank r gives its first s parts, which lie at their places in the output, to r - s, r - 2 s, ...
void allgather_circulant(Builder&, const Problem&);

// What flows in parts from a root along all skips at a time: in round t + 1 each rank receives one that its peer has from an
// earlier round, a new one whenever there can be one.
class Flow {
public:
    Flow(int size, int parts);

    int rounds() const { return rounds_; }
    int parts() const { return parts_; }
    int skips() const { return static_cast<int>(skips_.size()) - 1; }
    // To whom a part goes in this round: so many ranks on.
    int skip(int t) const { return skips_[static_cast<std::size_t>((t + phase_) % skips())]; }
    // Of each round, by Träff's search: which part comes to a rank so many behind the root; -1: none.
    std::vector<int> received(int relative) const;

private:
    int size_, parts_, phase_ = 0, rounds_ = 0;
    std::vector<int> skips_;
};

// Of a vector from the root, in blocks.
class FlowOfBlocks {
public:
    explicit FlowOfBlocks(const Problem&);

    int rounds() const { return flow_.rounds(); }
    // Which block this rank passes on, and which it receives; -1: none.
    struct Exchange {
        int to, sent, from, received;
    };
    Exchange round(int t) const;
    int blocks() const { return flow_.parts(); }
    Block block(int i) const;

private:
    const Flow flow_;
    Problem dealt_;  // among the blocks
    int size_, rank_;
    std::vector<int> received_;
    std::vector<std::vector<int>> sent_;  // of each skip: received by the peer there
};

// Of each rank's block to all others, at the same time.
class FlowsToAll {
public:
    explicit FlowsToAll(const Problem&);

    int rounds() const { return flow_.rounds(); }
    int skip(int t) const { return flow_.skip(t); }
    // What a rank receives in this round, in the order of the owners; neighboring ones together.
    std::vector<Block> come_to(int rank, int t) const;

private:
    const Flow flow_;
    const Problem& problem_;
    std::vector<std::vector<int>> received_;  // by ranks behind the root
};

}  // namespace fanlight
