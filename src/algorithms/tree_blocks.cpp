#include "algorithms/tree_blocks.h"

#include "algorithms/blocks.h"

namespace fanlight {
namespace {

// Where a block lies in the packed blocks of a subtree, which may go on with rank 0 behind the last one.
std::size_t packed(const Problem& p, int rank, const Subtree& subtree) {
    const std::size_t around = rank < subtree.first ? packed_offset(p, p.size) : 0;
    return around + packed_offset(p, rank) - packed_offset(p, subtree.first);
}

std::size_t length(const Problem& p, const Subtree& subtree) {
    std::size_t bytes = 0;
    for (const BlockRun& run : runs(p, subtree.first, subtree.count)) bytes += run.bytes;
    return bytes;
}

}  // namespace

Schedule gather_up(const Problem& problem, const Tree& tree) {
    Builder b(problem);
    const bool root = tree.parent < 0;
    const bool leaf = tree.children.empty();
    const Subtree& own = tree.own;
    const Block block = problem.block(problem.rank);
    // The first reservation, so at the same place on all ranks; a leaf needs but the address.
    const Address below = b.reserve(root || leaf ? 0 : length(problem, own));

    if (root) {
        b.copy(input(), output(block.offset), block.bytes);
    } else if (!leaf) {
        b.copy(input(), below + packed(problem, problem.rank, own), block.bytes);
    }
    for (const Subtree& child : tree.children) {
        if (root) arrive_blocks(b, problem, child.rank, Buffer::output, child.first, child.count);
        else b.arrive(child.rank, below + packed(problem, child.first, own), length(problem, child));
    }
    b.next_round();

    const Address from = leaf ? input() : below;
    if (root) {
        // has it all
    } else if (tree.parent == problem.root) {
        for (const BlockRun& run : runs(problem, own.first, own.count))
            b.put(tree.parent, from + run.packed, output(run.offset), run.bytes);
    } else {
        b.put(tree.parent, from, below + packed(problem, own.first, tree.parents), length(problem, own));
    }
    return b.finish();
}

Schedule scatter_down(const Problem& problem, const Tree& tree) {
    Builder b(problem);
    const bool root = tree.parent < 0;
    const bool leaf = tree.children.empty();
    const Subtree& own = tree.own;
    const Block block = problem.block(problem.rank);
    // The first reservation, so at the same place on all ranks; a leaf takes its only block
    // straight to output.
    const Address below = b.reserve(root || leaf ? 0 : length(problem, own));
    const auto arrives_at = [&](const Subtree& subtree) { return subtree.count > 1 ? below : output(); };

    if (root) {
        // handled below
    } else if (tree.parent == problem.root) {
        for (const BlockRun& run : runs(problem, own.first, own.count))
            b.arrive(tree.parent, arrives_at(own) + run.packed, run.bytes);
    } else {
        b.arrive(tree.parent, arrives_at(own), length(problem, own));
    }
    b.next_round();

    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        if (root) {
            for (const BlockRun& run : runs(problem, child->first, child->count))
                b.put(child->rank, input(run.offset), arrives_at(*child) + run.packed, run.bytes);
        } else {
            b.put(child->rank, below + packed(problem, child->first, own), arrives_at(*child), length(problem, *child));
        }
    }
    // The own block last: nobody waits for it.
    if (root) {
        b.copy(input(block.offset), output(), block.bytes);
    } else if (!leaf) {
        b.copy(below + packed(problem, problem.rank, own), output(), block.bytes);
    }
    return b.finish();
}

}  // namespace fanlight
