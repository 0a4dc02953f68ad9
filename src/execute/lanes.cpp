// Compositions in lanes (composition.h).
#include <stdexcept>
#include <string>

#include "execute/composition.h"

namespace fanlight {

bool composes_in_lanes(const Problem& p, const Domains& map) {
    if (map.count() == 1 || map.members(0).size() == 1 || !map.even()) return false;
    switch (p.operation) {
        // What reduces a part for each rank inside a node wherever it runs needs that they commute.
        case Operation::reduce:
        case Operation::allreduce:
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block: return p.commutative && elements_find_room(p);
        case Operation::bcast:
        case Operation::allgather:
        case Operation::allgatherv: return true;
        case Operation::alltoall: return map.blocked();
        default: return false;
    }
}

void Composition::in_lanes() {
    for (int n = 0; n < map_.count(); ++n) members_.push_back(map_.members(n)[static_cast<std::size_t>(map_.local(whole_.rank))]);
    switch (whole_.operation) {
        case Operation::allgather:
        case Operation::allgatherv: allgather_in_lanes(); break;
        case Operation::alltoall: alltoall_in_lanes(); break;
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block: reduce_scatter_in_lanes(); break;
        default: throw std::invalid_argument(std::string(to_string(whole_.operation)) + " does not run in lanes");
    }
}

// The blocks of a node's ranks where they are in the order of all ranks.
Problem Composition::blocks_of_node(Operation operation, int node) const {
    Problem p = vector_problem(operation, 0);
    for (const int r : map_.members(node)) p.blocks.push_back(whole_.block(r));
    return p;
}

void Composition::allgather_in_lanes() {
    Problem lane = vector_problem(Operation::allgatherv, 0);
    for (const int r : members_) lane.blocks.push_back(whole_.block(r));
    between(lane, input(), output());
    together();
    in_node(blocks_of_node(Operation::allgatherv, here()), 0, input(), output());
    for (int n = 0; n < map_.count(); ++n)
        if (n != here())
            in_node(blocks_of_node(Operation::allgatherv, n), 0, output(lane.block(n).offset), output());
}

void Composition::alltoall_in_lanes() {
    const std::size_t bytes = whole_.bytes * static_cast<std::size_t>(node_->size());
    const auto of_node = [&](int n) { return static_cast<std::size_t>(n) * bytes; };
    const Address came = reserve(of_node(map_.count()));
    const Problem inside = vector_problem(Operation::alltoall, whole_.bytes);
    between(vector_problem(Operation::alltoall, bytes), input(), came);
    together();
    in_node(inside, 0, input(of_node(here())), output(of_node(here())));
    for (int n = 0; n < map_.count(); ++n)
        if (n != here()) in_node(inside, 0, came + of_node(n), output(of_node(n)));
}

void Composition::reduce_scatter_in_lanes() {
    Problem lane = vector_problem(Operation::reduce_scatter, 0);
    std::size_t total = 0;
    for (const int r : members_) {
        lane.blocks.push_back({total, whole_.block(r).bytes});
        total += lane.blocks.back().bytes;
    }
    const Address sums = reserve(total);
    for (int n = 0; n < map_.count(); ++n)
        in_node(blocks_of_node(Operation::reduce_scatter, n), 0, input(), sums + lane.block(n).offset);
    between(lane, sums, output());
}

}  // namespace fanlight
