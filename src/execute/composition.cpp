#include "execute/composition.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "execute/copy.h"

namespace fanlight {

bool elements_find_room(const Problem& p) { return p.element <= 4096; }

bool composes(const Problem& p, const Domains& map) {
    switch (p.operation) {
        case Operation::reduce:
        case Operation::allreduce:
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block: return elements_find_room(p) && (p.commutative || map.blocked());
        case Operation::scan:
        case Operation::exscan: return elements_find_room(p) && map.blocked();
        case Operation::barrier:
        case Operation::bcast:
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::gather:
        case Operation::scatter: return true;
        default: return false;
    }
}

Composition::Composition(By by, const Algorithm& algorithm, const Problem& problem, const Domains& map, Group* node,
                         Group& across, const Reach& reach, const NodePlan& node_plan)
    : algorithm_(algorithm), whole_(problem), map_(map), node_(node), across_(across), reach_(reach), node_plan_(node_plan) {
    if (by == By::lanes) in_lanes();
    else by_representatives();
    scratch_.resize(scratch_bytes_);
}

void Composition::by_representatives() {
    for (int n = 0; n < map_.count(); ++n) members_.push_back(representative(n));
    if (family_of(whole_.operation) == Family::blocks || family_of(whole_.operation) == Family::blocks_v) {
        place_.resize(static_cast<std::size_t>(whole_.size));
        for (int n = 0; n < map_.count(); ++n) {
            const std::size_t start = total_;
            for (const int r : map_.members(n)) {
                place_[static_cast<std::size_t>(r)] = total_;
                total_ += whole_.block(r).bytes;
            }
            node_blocks_.push_back({start, total_ - start});
        }
    }
    switch (whole_.operation) {
        case Operation::barrier: barrier(); break;
        case Operation::bcast: bcast(); break;
        case Operation::reduce: reduce(); break;
        case Operation::allreduce: allreduce(); break;
        case Operation::allgather:
        case Operation::allgatherv: allgather(); break;
        case Operation::gather: gather(); break;
        case Operation::scatter: scatter(); break;
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block: reduce_scatter(); break;
        case Operation::scan:
        case Operation::exscan: scan(); break;
        default: throw std::invalid_argument(std::string(to_string(whole_.operation)) + " is not composed of phases");
    }
}

int Composition::representative(int node) const {
    if (whole_.operation == Operation::scan || whole_.operation == Operation::exscan) return map_.members(node).back();
    return has_root(whole_.operation) && map_.of(whole_.root) == node ? whole_.root : map_.leader(node);
}

// --- the operations --------------------------------------------------------------------

void Composition::barrier() {
    in_node(vector_problem(Operation::barrier, 0), 0, input(), output());
    between(vector_problem(Operation::barrier, 0), input(), output());
    in_node(vector_problem(Operation::barrier, 0), 0, input(), output());
}

void Composition::bcast() {
    const Problem p = vector_problem(Operation::bcast, whole_.bytes);
    between(p, input(), output());
    if (at_root()) together();
    in_node(p, map_.local(representative(here())), whole_.rank == whole_.root ? input() : output(), output());
}

void Composition::reduce() {
    const Problem p = vector_problem(Operation::reduce, whole_.bytes);
    const bool combines = node_ && represents();
    if (combines) scratch_bytes_ = whole_.bytes;
    in_node(p, map_.local(representative(here())), input(), scratch());
    between(p, combines ? scratch() : input(), output());
}

void Composition::allreduce() {
    const bool combines = node_ && represents();
    if (combines) scratch_bytes_ = whole_.bytes;
    in_node(vector_problem(Operation::reduce, whole_.bytes), 0, input(), scratch());
    between(vector_problem(Operation::allreduce, whole_.bytes), combines ? scratch() : input(), output());
    in_node(vector_problem(Operation::bcast, whole_.bytes), 0, output(), output());
}

void Composition::allgather() {
    const bool ordered = map_.blocked();
    if (!ordered && represents()) scratch_bytes_ = total_;
    const Address all = ordered ? output() : scratch();
    const Address own = all + node_blocks_[static_cast<std::size_t>(here())].offset;
    in_node(blocks_in_node(Operation::gatherv), 0, input(), own);
    between(blocks_between(Operation::allgather, Operation::allgatherv), node_ ? own : input(), all);
    if (!ordered) reorder(all, output(), true);
    in_node(vector_problem(Operation::bcast, total_), 0, output(), output());
}

void Composition::gather() {
    const bool ordered = map_.blocked(), root = whole_.rank == whole_.root;
    const Block own = node_blocks_[static_cast<std::size_t>(here())];
    if (root && !ordered) scratch_bytes_ = total_;
    if (!root && represents()) scratch_bytes_ = own.bytes;
    const Address all = ordered ? output() : scratch();
    const Address place = root ? all + own.offset : scratch();
    in_node(blocks_in_node(Operation::gatherv), map_.local(representative(here())), input(), place);
    between(blocks_between(Operation::gather, Operation::gatherv), node_ ? place : input(), all);
    if (root && !ordered) reorder(all, output(), true);
}

void Composition::scatter() {
    const bool ordered = map_.blocked(), root = whole_.rank == whole_.root;
    const Block own = node_blocks_[static_cast<std::size_t>(here())];
    if (root && !ordered) scratch_bytes_ = total_;
    if (!root && represents()) scratch_bytes_ = own.bytes;
    const Address all = ordered ? input() : scratch();
    const Address place = !node_ ? output() : root ? all + own.offset : scratch();
    if (root && !ordered) reorder(input(), all, false);
    between(blocks_between(Operation::scatter, Operation::scatterv), all, place);
    in_node(blocks_in_node(Operation::scatterv), map_.local(representative(here())), place, output());
}

void Composition::reduce_scatter() {
    const auto room = [&](std::size_t bytes) { return represents() ? reserve(bytes) : scratch(); };
    Address sum = node_ ? room(total_) : input();
    in_node(vector_problem(Operation::reduce, total_), 0, input(), sum);
    if (!map_.blocked()) {
        const Address in_nodes = room(total_);
        reorder(sum, in_nodes, false);
        sum = in_nodes;
    }
    const Address own = node_ ? room(node_blocks_[static_cast<std::size_t>(here())].bytes) : output();
    between(blocks_between(Operation::reduce_scatter_block, Operation::reduce_scatter), sum, own);
    in_node(blocks_in_node(Operation::scatterv), 0, own, output());
}

void Composition::scan() {
    const bool inclusive = whole_.operation == Operation::scan, first = map_.local(whole_.rank) == 0;
    in_node(vector_problem(whole_.operation, whole_.bytes), 0, input(), output());
    Address total = input();
    if (inclusive && node_) {
        total = output();
    } else if (inclusive) {
        phases_.push_back({Copies{{{0, whole_.bytes}}, {{0, whole_.bytes}}}, input(), output()});
    } else if (node_ && represents() && here() + 1 < map_.count()) {
        total = reserve(whole_.bytes);
        combine(output(), input(), total);
    }
    // The ranks of the nodes below; of an exscan that is all that a node's first rank wants.
    const Address below = inclusive || !first ? reserve(whole_.bytes) : output();
    between(vector_problem(Operation::exscan, whole_.bytes), total, below);
    if (here() == 0) return;
    in_node(vector_problem(Operation::bcast, whole_.bytes), map_.local(representative(here())), below, below);
    if (below != output()) combine(below, output(), output());
}

// --- their phases ----------------------------------------------------------------------

Problem Composition::vector_problem(Operation operation, std::size_t bytes) const {
    Problem p;
    p.operation = operation;
    p.bytes = bytes;
    p.element = whole_.element;
    p.commutative = whole_.commutative;
    return p;
}

// The blocks of this node's ranks, one behind the other.
Problem Composition::blocks_in_node(Operation operation) const {
    Problem p = vector_problem(operation, 0);
    std::size_t offset = 0;
    for (const int r : map_.members(here())) {
        p.blocks.push_back({offset, whole_.block(r).bytes});
        offset += p.blocks.back().bytes;
    }
    return p;
}

// One block for each node.
Problem Composition::blocks_between(Operation even, Operation uneven) const {
    if (map_.even() && whole_.blocks.empty()) return vector_problem(even, node_blocks_.front().bytes);
    Problem p = vector_problem(uneven, 0);
    p.blocks = node_blocks_;
    return p;
}

void Composition::in_node(Problem p, int root, Address from, Address to) {
    if (!node_) return;
    p.rank = node_->rank();
    p.size = node_->size();
    p.root = has_root(p.operation) ? root : 0;
    phases_.push_back({node_plan_(p), from, to});
}

void Composition::between(Problem p, Address from, Address to) {
    const Algorithm* algorithm = find_algorithm(p.operation, algorithm_.name);
    if (!algorithm) {
        // The v form has none of this name.
        for (const Algorithm& a : algorithms())
            if (a.operation == p.operation && !algorithm && !a.power_of_two) algorithm = &a;
    }
    p.parameters = whole_.parameters;
    p.rank = represents() ? here() : -1;
    p.size = map_.count();
    p.root = has_root(p.operation) ? map_.of(whole_.root) : 0;
    reach_.members = members_;
    phases_.push_back({across_.plan(*algorithm, p, reach_), from, to, true});
}

void Composition::together() {
    if (node_) phases_.back().with_next = true;
}

Address Composition::reserve(std::size_t bytes) {
    return scratch(std::exchange(scratch_bytes_, scratch_bytes_ + (bytes + 63) / 64 * 64));
}

// All blocks between the order of the nodes and that of the ranks, on those who have them all.
void Composition::reorder(Address from, Address to, bool to_ranks) {
    if (!represents()) return;
    Copies copies;
    for (int r = 0; r < whole_.size; ++r) {
        const Block in_ranks = whole_.block(r);
        const Block in_nodes{place_[static_cast<std::size_t>(r)], in_ranks.bytes};
        if (in_ranks.bytes == 0) continue;
        copies.from.push_back(to_ranks ? in_nodes : in_ranks);
        copies.to.push_back(to_ranks ? in_ranks : in_nodes);
    }
    phases_.push_back({std::move(copies), from, to});
}

void Composition::combine(Address left, Address right, Address to) {
    phases_.push_back({Combination{whole_.bytes, right}, left, to});
}

void Composition::run(const void* input, void* output, const Combiner* combiner) {
    std::byte* const base[] = {static_cast<std::byte*>(const_cast<void*>(input)), static_cast<std::byte*>(output),
                               scratch_.data()};
    const auto at = [&](Address a) -> std::byte* {
        std::byte* const start = base[static_cast<int>(a.buffer)];
        return start ? start + a.offset : nullptr;  // significant at the root alone
    };
    for (auto phase = phases_.begin(); phase != phases_.end(); ++phase) {
        std::byte* const from = at(phase->from);
        std::byte* const to = at(phase->to);
        if (const auto* plan = std::get_if<Plan>(&phase->what)) {
            if (!phase->with_next) {
                (phase->between ? across_ : *node_).run(*plan, from, to, combiner);
                continue;
            }
            ++phase;
            const Group::Meanwhile meanwhile = [&] { node_->run(std::get<Plan>(phase->what), at(phase->from), at(phase->to), combiner); };
            across_.run(*plan, from, to, combiner, &meanwhile);
        } else if (const auto* combination = std::get_if<Combination>(&phase->what)) {
            combiner->apply(from, at(combination->right), to, combination->bytes, combiner->context);
        } else {
            const Copies& copies = std::get<Copies>(phase->what);
            for (std::size_t i = 0; i < copies.from.size(); ++i)
                copy_bytes(to + copies.to[i].offset, from + copies.from[i].offset, copies.from[i].bytes);
        }
    }
}

}  // namespace fanlight
