// What an algorithm is asked to do: everything that a schedule may depend on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/topology.h"

namespace fanlight {

enum class Operation : std::uint8_t {
#define OPERATION(name, family, properties, description) name,
#include "schedule/operations.def"
#undef OPERATION
};

// How an operation's buffers are laid out (see Problem::block).
enum class Family : std::uint8_t {
    signal,     // no data
    vector,     // every buffer is one vector of `bytes` bytes
    blocks,     // one block of equal length for each rank
    blocks_v,   // one block of its own length for each rank
    neighbors,  // a block along each edge of a graph
};

std::string_view to_string(Operation);
// Throws std::invalid_argument, naming the operations that exist.
Operation operation_from(std::string_view name);
Family family_of(Operation);
// reduce, allreduce, reduce_scatter(_block), scan, exscan
bool reduces(Operation);
// scan, exscan
bool is_prefix(Operation);
// bcast, reduce, gather(v), scatter(v)
bool has_root(Operation);
// gatherv, scatterv, alltoallv, neighborhoods: no rank knows those of others beforehand.
bool lengths_are_unknown(Operation);
// Whether a rule may ask for the length: all ranks know it.  Of those operations on two ranks it is that of what goes between them.
bool length_is_known(Operation, int ranks);
// allgatherv, reduce_scatter: blocks of different lengths, and all ranks know them.
bool knows_all_lengths(Operation);
// Several ranks read what one gives, or parts of it: operations on vectors, and allgather(v).
bool gives_the_same_to_several(Operation);
std::size_t operation_count();

struct Block {
    std::size_t offset = 0;  // bytes from the start of the buffer that holds all ranks' blocks
    std::size_t bytes = 0;
    friend bool operator==(const Block&, const Block&) = default;
};

// What goes between two others.
struct Passing {
    int from = 0, to = 0;
    std::size_t bytes = 0;
    friend bool operator==(const Passing&, const Passing&) = default;
};

// What goes from one rank's input to another's output, or to its own, in a neighborhood.
struct Edge {
    int from = 0, to = 0;
    std::size_t bytes = 0;
    std::size_t sent = 0;   // offset in the input of `from`
    std::size_t taken = 0;  // offset in the output of `to`
    friend bool operator==(const Edge&, const Edge&) = default;
};

// Selectable parameters of algorithms (parameters.def); 0 means the algorithm's own default.
struct Parameters {
#define PARAMETER(name, type, description) type name = 0;
#include "schedule/parameters.def"
#undef PARAMETER
    std::uint64_t levels = 0;  // by-levels: which algorithms a rule names for them (algorithms/level_names.h)
    std::uint32_t plan = 0;    // of an algorithm that was read from a file: which (algorithms/plan_files.h)
    friend bool operator==(const Parameters&, const Parameters&) = default;
};

struct Problem {
    Operation operation{};
    int rank = 0;
    int size = 1;
    int root = 0;
    // vector: length of the vector.  blocks: length of one block.  blocks_v: unused.
    std::size_t bytes = 0;
    // blocks: distance between the starts of two neighboring blocks (0: equal to bytes).
    // It is larger than bytes when a long message is run piece by piece.
    std::size_t stride = 0;
    // blocks_v: every rank's block.  gatherv and scatterv: a rank that is not the root knows its
    // own block's length, and by levels those of the ranks that it stands for; the other entries are zero there.
    std::vector<Block> blocks = {};
    // alltoallv: what goes to each rank, in the input, while `blocks` is what comes from each, in
    // the output.  A rank knows its own lists alone; the problem as a whole, from which those of the ranks are taken
    // (all_ranks.h), holds the lists of rank 0, 1, ... behind one another.
    std::vector<Block> sends = {};
    // alltoallv: the lengths that a rank has heard of blocks that it passes on, in the order of `from` and `to`.
    std::vector<Passing> passing = {};
    // neighbors: the edges, those between the same two ranks in the same order at both.  A rank
    // knows its own alone, and of those that come to it `sent` only where all blocks have the same
    // length, of those that leave it never `taken`; the problem as a whole has all.
    std::vector<Edge> edges = {};
    // Bytes of one element of a reduction: ranges that are combined are multiples of it.
    std::size_t element = 1;
    bool commutative = true;
    Parameters parameters = {};
    Topology topology = {};  // of these ranks; none: all in one domain

    // Where rank r's block lies in the buffer that holds all blocks: allgather(v), gather(v):
    // output; scatter(v), reduce_scatter(_block): input; alltoall: both; alltoallv: output.
    Block block(int r) const {
        if (!blocks.empty()) return blocks[static_cast<std::size_t>(r)];
        return {static_cast<std::size_t>(r) * (stride ? stride : bytes), bytes};
    }
    // alltoall(v): where the block for rank r lies in the input.
    Block send(int r) const { return sends.empty() ? block(r) : sends[static_cast<std::size_t>(r)]; }
    // Whether blocks r and r+1 touch, so that one step may move both.
    bool contiguous_blocks() const {
        return blocks.empty() && (stride == 0 || stride == bytes);
    }

    friend bool operator==(const Problem&, const Problem&) = default;

    // A rank as seen from the root (the root is 0), and back.
    int relative(int r) const { return (r - root + size) % size; }
    int absolute(int relative_rank) const { return (relative_rank + root) % size; }
};

// Whether the order of the ranks counts: of prefixes, and where the operator does not commute.
bool in_order(const Problem&);
// alltoallv: of a block between any two ranks.  Throws std::logic_error if this one does not know it.
std::size_t length_between(const Problem&, int from, int to);

}  // namespace fanlight
