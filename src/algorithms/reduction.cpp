#include "algorithms/reduction.h"

namespace fanlight {

void reduce_up(Builder& b, const Problem& problem, const Tree& tree, Address here,
               Address at_parent) {
    const std::size_t bytes = problem.bytes;
    Address result = input();  // a leaf sends its input as it is
    for (const Subtree& child : tree.children) {
        const bool above = child.first > problem.rank;
        if (result == input()) {
            // The first child's result comes to rest, then takes in this rank's input: no copy.
            b.arrive(child.rank, here, bytes);
            b.next_round();
            b.combine(input(), here, bytes, above ? Order::before : Order::after);
            result = here;
        } else {
            b.arrive(child.rank, here, bytes, above ? Order::after : Order::before);
        }
        b.next_round();
    }
    if (tree.parent >= 0) {
        b.put(tree.parent, result, at_parent, bytes);
    } else if (tree.children.empty()) {
        b.copy(input(), here, bytes);  // alone
    }
    b.next_round();
}

void read_up(Builder& b, const Problem& problem, const Tree& tree, Address here) {
    const std::size_t bytes = problem.bytes;
    Address result = input();  // a leaf offers its input as it is
    for (const Subtree& child : tree.children) {
        const Address theirs = child.count == 1 ? input() : scratch();
        const bool above = child.first > problem.rank;
        if (result == input()) {
            b.get(child.rank, 0, theirs, here, bytes);
            b.next_round();
            b.combine(input(), here, bytes, above ? Order::before : Order::after);
            result = here;
        } else {
            b.get(child.rank, 0, theirs, here, bytes, above ? Order::after : Order::before);
        }
        b.next_round();
    }
    if (tree.parent >= 0) {
        b.offer_to(tree.parent, result, bytes);
    } else if (tree.children.empty()) {
        b.copy(input(), here, bytes);  // alone
    }
    b.next_round();
}

void reduce_around(Builder& b, const Problem& problem, const std::function<void(int i, Order)>& fetch) {
    const Block own = problem.block(problem.rank);
    if (problem.size == 1) b.copy(input(own.offset), output(), own.bytes);
    for (int i = 1; i < problem.size; ++i) {
        fetch(i, i == 1 ? Order::overwrite : Order::after);
        b.next_round();
        if (i == 1) {
            // The first share comes to rest, then takes in the own one: no copy.
            b.combine(input(own.offset), output(), own.bytes, Order::before);
            b.next_round();
        }
    }
}

Schedule put_down(const Problem& problem, const Tree& tree) {
    Builder b(problem);
    const bool root = tree.parent < 0;
    if (!root) {
        b.arrive(tree.parent, output(), problem.bytes);
        b.next_round();
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
        b.put(child->rank, root ? input() : output(), output(), problem.bytes);
    // After the puts: nobody waits for it.
    if (root) b.copy(input(), output(), problem.bytes);
    return b.finish();
}

Schedule put_up(const Problem& problem, const Tree& tree) {
    Builder b(problem);
    const bool root = tree.parent < 0;
    // The first reservation, so at the same place on all ranks; a leaf needs but the address.
    const Address sum = b.reserve(root || tree.children.empty() ? 0 : problem.bytes);
    reduce_up(b, problem, tree, root ? output() : sum, tree.parent == problem.root ? output() : sum);
    return b.finish();
}

}  // namespace fanlight
