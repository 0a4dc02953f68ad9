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

}  // namespace fanlight
