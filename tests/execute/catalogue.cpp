#include "catalogue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>

#include "../schedule/graphs.h"
#include "algorithms/lengths.h"
#include "memory/arena.h"
#include "schedule/all_ranks.h"

namespace fanlight::testing {

namespace {

constexpr std::size_t element = 8;
constexpr std::byte poison{0xa5};

struct Affine {
    std::uint32_t a, b;
};

void affine(const void* left, const void* right, void* into, std::size_t bytes, const void*) {
    const auto* l = static_cast<const Affine*>(left);
    const auto* r = static_cast<const Affine*>(right);
    auto* t = static_cast<Affine*>(into);
    for (std::size_t i = 0; i < bytes / element; ++i)
        t[i] = {l[i].a * r[i].a, l[i].a * r[i].b + l[i].b};
}

void sum(const void* left, const void* right, void* into, std::size_t bytes, const void*) {
    const auto* l = static_cast<const std::uint64_t*>(left);
    const auto* r = static_cast<const std::uint64_t*>(right);
    auto* t = static_cast<std::uint64_t*>(into);
    for (std::size_t i = 0; i < bytes / element; ++i) t[i] = l[i] + r[i];
}

std::uint64_t payload(int source, std::size_t index, int call) {
    std::uint64_t x = static_cast<std::uint64_t>(source) * 0x9e3779b97f4a7c15u +
                      index * 0xbf58476d1ce4e5b9u + static_cast<std::uint64_t>(call) * 0x94d049bb133111ebu;
    x ^= x >> 29;
    x *= 0xd6e8feb86659fd93u;
    return (x ^ (x >> 32)) | 1;
}

using Bytes = std::vector<std::byte>;

// So many bytes of the source's vector, from byte `first` on.  Word by word: this is most of what
// a run under a sanitizer does.
Bytes vector_of(int source, std::size_t bytes, int call, std::size_t first = 0) {
    std::vector<std::uint64_t> words((first % 8 + bytes + 7) / 8);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = payload(source, first / 8 + i, call);
    Bytes v(bytes);
    if (bytes) std::memcpy(v.data(), reinterpret_cast<const std::byte*>(words.data()) + first % 8, bytes);
    return v;
}

Bytes reduced(int ranks, std::size_t bytes, int call, const Combiner& c) {
    Bytes acc = vector_of(0, bytes, call);
    for (int r = 1; r < ranks; ++r) {
        const Bytes next = vector_of(r, bytes, call);
        c.apply(acc.data(), next.data(), acc.data(), bytes, nullptr);
    }
    return acc;
}

// The part of source's vector that is block r.
struct Layout {
    std::size_t extent = 0;
    explicit Layout(const Problem& p) {
        for (int r = 0; r < p.size; ++r) extent = std::max(extent, p.block(r).offset + p.block(r).bytes);
        for (const auto* list : {&p.sends, &p.blocks})
            for (const Block& b : *list) extent = std::max(extent, b.offset + b.bytes);
        for (const Edge& e : p.edges) extent = std::max({extent, e.sent + e.bytes, e.taken + e.bytes});
    }
};

// Of the rank that has the most, incoming and outgoing ones counted apart.
MostNeighbors most_edges(const Problem& p) {
    MostNeighbors most;
    const auto count = [&](int r, int Edge::*here, int Edge::*there) {
        std::size_t edges = 0;
        std::set<int> peers;
        for (const Edge& e : p.edges)
            if (e.*here == r) ++edges, peers.insert(e.*there);
        most = {std::max(most.edges, edges), std::max(most.peers, peers.size())};
    };
    for (int r = 0; r < p.size; ++r) {
        count(r, &Edge::from, &Edge::to);
        count(r, &Edge::to, &Edge::from);
    }
    return most;
}

// What lies from byte `first` of the source's vector on.
void put(Bytes& into, const Block& at, int source, int call, std::size_t first) {
    if (at.bytes) std::memcpy(into.data() + at.offset, vector_of(source, at.bytes, call, first).data(), at.bytes);
}

// By memcmp, where std::byte's == looks at one byte after the other.
bool same(const Bytes& a, const Bytes& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

Combiner affine_combiner() { return {affine, nullptr}; }
Combiner sum_combiner() { return {sum, nullptr}; }

Data data_of(const Problem& p, int call) {
    const Combiner combiner = p.commutative ? sum_combiner() : affine_combiner();
    const std::size_t total = family_of(p.operation) == Family::vector ? p.bytes : Layout(p).extent;
    const Block own = p.block(p.rank);
    const bool root = p.rank == p.root;
    Bytes in, expected;
    switch (p.operation) {
        case Operation::barrier: break;
        case Operation::bcast:
            if (root) in = vector_of(p.root, total, call);
            expected = vector_of(p.root, total, call);
            break;
        case Operation::reduce:
            in = vector_of(p.rank, total, call);
            if (root) expected = reduced(p.size, total, call, combiner);
            break;
        case Operation::allreduce:
            in = vector_of(p.rank, total, call);
            expected = reduced(p.size, total, call, combiner);
            break;
        case Operation::scan:
            in = vector_of(p.rank, total, call);
            expected = reduced(p.rank + 1, total, call, combiner);
            break;
        case Operation::exscan:
            in = vector_of(p.rank, total, call);
            expected = p.rank == 0 ? Bytes(total, poison) : reduced(p.rank, total, call, combiner);
            break;
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::gather:
        case Operation::gatherv:
            in = vector_of(p.rank, own.bytes, call);
            if (root || !has_root(p.operation)) {
                expected.assign(total, poison);
                for (int r = 0; r < p.size; ++r) put(expected, p.block(r), r, call, 0);
            }
            break;
        case Operation::scatter:
        case Operation::scatterv: {
            const Bytes all = vector_of(p.root, total, call);
            if (root) in = all;
            expected.assign(own.bytes, poison);
            if (own.bytes) std::memcpy(expected.data(), all.data() + own.offset, own.bytes);
            break;
        }
        case Operation::alltoall:
            in = vector_of(p.rank, total, call);
            expected.assign(total, poison);
            for (int r = 0; r < p.size; ++r) put(expected, p.block(r), r, call, own.offset);
            break;
        case Operation::alltoallv: {
            in = vector_of(p.rank, total, call);
            expected.assign(total, poison);
            const Problem here = problem_at(p, p.rank);
            for (int r = 0; r < p.size; ++r)
                put(expected, here.block(r), r, call, problem_at(p, r).send(p.rank).offset);
            break;
        }
        case Operation::neighbor_allgather:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
            in = vector_of(p.rank, total, call);
            expected.assign(total, poison);
            for (const Edge& e : p.edges)
                if (e.to == p.rank) put(expected, {e.taken, e.bytes}, e.from, call, e.sent);
            break;
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block: {
            in = vector_of(p.rank, total, call);
            const Bytes all = reduced(p.size, total, call, combiner);
            expected.assign(all.begin() + static_cast<std::ptrdiff_t>(own.offset),
                            all.begin() + static_cast<std::ptrdiff_t>(own.offset + own.bytes));
            break;
        }
    }
    Bytes out(expected.size(), poison);
    return {std::move(in), std::move(out), std::move(expected)};
}

Plan plan_of(const Group& group, const Algorithm& algorithm, const Problem& p, const Reach& reach) {
    Problem known = problem_at(p, p.rank);
    const bool unknown = lengths_are_unknown(p.operation);
    const MostNeighbors most = family_of(p.operation) == Family::neighbors ? most_edges(p) : MostNeighbors{};
    if (unknown && !group.plans_any(algorithm, reach, most)) throw std::invalid_argument("staged whole");
    for (int r = 0; r < p.size && p.rank != p.root && has_root(p.operation) && unknown; ++r)
        if (r != p.rank) known.blocks[static_cast<std::size_t>(r)] = {};  // what others will tell
    known.passing.clear();
    return group.plan(algorithm, known, reach, most);
}

void hear_lengths(const Group& group, const Plan& plan, const Problem& whole) {
    if (!plan.lengths) return;
    Problem known = problem_at(whole, plan.lengths->problem.rank);
    const std::vector<Passing>& passing = plan.lengths->problem.passing;
    for (const auto& [place, index] : plan.lengths->awaited)
        plan.lengths->heard[place] = passing.empty() ? known.blocks[index].bytes : length_between(known, passing[index].from, passing[index].to);
    group.bind_blocks(plan);
}

// The same call on buffers that all have mapped.
static void run_mapped(Group& group, const Plan& plan, Bytes& in, Bytes& out, const Combiner* combiner, const Mapped& mapped) {
    const auto rank = static_cast<std::size_t>(group.rank());
    if (!in.empty()) std::memcpy(mapped.input[rank], in.data(), in.size());
    if (!out.empty()) std::memcpy(mapped.output[rank], out.data(), out.size());
    group.run(plan, mapped, combiner);
    if (!in.empty()) std::memcpy(in.data(), mapped.input[rank], in.size());
    if (!out.empty()) std::memcpy(out.data(), mapped.output[rank], out.size());
}

// The same call on buffers in the arena.
static void run_lent(Group& group, const Plan& plan, Bytes& in, Bytes& out, const Combiner* combiner) {
    const auto arena = [](const Bytes& bytes) {
        std::unique_ptr<void, decltype(&arena::release)> block(arena::allocate(bytes.size() + 1), arena::release);
        if (!bytes.empty()) std::memcpy(block.get(), bytes.data(), bytes.size());
        return block;
    };
    const auto input = arena(in), output = arena(out);
    group.run(plan, input.get(), output.get(), combiner);
    // At once: nobody reads them any more.
    if (!in.empty()) std::memcpy(in.data(), input.get(), in.size());
    if (!out.empty()) std::memcpy(out.data(), output.get(), out.size());
    std::memset(input.get(), 0x5a, in.size());
    std::memset(output.get(), 0x5a, out.size());
}

// All that the executor may refuse, on all members alike: a block of any length that is offered has no place
// in the staging, and root-reads-all has no other form.
static bool is_refused(const Group& group, const Algorithm& algorithm) {
    return !group.single_copy() && algorithm.operation == Operation::gatherv && algorithm.name == "root-reads-all";
}

std::string run_and_check(Group& group, const Algorithm& algorithm, Problem p, int calls, const Mapped* mapped, bool lent,
                          const std::function<void(Plan&)>& prepare) {
    p.rank = group.rank();
    const Combiner combiner = p.commutative ? sum_combiner() : affine_combiner();
    const std::size_t total = family_of(p.operation) == Family::vector ? p.bytes : Layout(p).extent;
    Plan plan;
    try {
        plan = plan_of(group, algorithm, p);
    } catch (const std::invalid_argument& e) {
        if (is_refused(group, algorithm)) return {};
        return std::string(to_string(p.operation)) + " " + std::string(algorithm.name) + ", " + std::to_string(p.size) +
               " ranks, " + std::to_string(total) + " bytes in all: refused (" + e.what() + ")";
    }
    if (is_refused(group, algorithm)) return std::string(algorithm.name) + " is not refused any more";
    if (prepare) prepare(plan);

    std::string wrong;
    for (int call = 0; call < calls; ++call) {
        auto [in, out, expected] = data_of(p, call);
        const Bytes before = in;
        if (mapped) run_mapped(group, plan, in, out, reduces(p.operation) ? &combiner : nullptr, *mapped);
        else if (lent) run_lent(group, plan, in, out, reduces(p.operation) ? &combiner : nullptr);
        else group.run(plan, in.data(), out.data(), reduces(p.operation) ? &combiner : nullptr);
        const auto text = [&](const char* what) {
            return std::string(to_string(p.operation)) + " " + std::string(algorithm.name) + ", " +
                   std::to_string(p.size) + " ranks, root " + std::to_string(p.root) + ", " +
                   std::to_string(total) + " bytes in all, call " + std::to_string(call) + ": rank " +
                   std::to_string(p.rank) + " " + what;
        };
        if (wrong.empty() && !same(out, expected)) {
            std::size_t i = 0;
            while (out[i] == expected[i]) ++i;
            wrong = text("has a wrong result, first at byte ") + std::to_string(i);
        }
        if (wrong.empty() && !same(in, before)) wrong = text("changed its input");
    }
    return wrong;
}

std::vector<Problem> problems(const Algorithm& a, int size, const std::vector<std::size_t>& elements) {
    std::vector<Problem> result;
    Problem p;
    p.operation = a.operation;
    p.size = size;
    p.element = reduces(a.operation) ? element : 1;
    p.commutative = a.has(property::commutative);
    if (!restriction(a, p).empty()) return result;
    for (const std::size_t n : elements)
        for (int root = 0; root < (has_root(a.operation) ? size : 1); ++root) {
            // Another root is the same schedule among other ranks, which the catalogue proves: a few, and of long ones two.
            if (root > 1 && (n > 1000 || root + 1 < size)) continue;
            p.root = root;
            p.blocks.clear();
            p.bytes = n * element;
            if (family_of(a.operation) == Family::neighbors) {
                p.bytes = 0;
                graphs::set(p, static_cast<graphs::Kind>(n % graphs::empty), n * element, 5);
            } else if (a.operation == Operation::alltoallv) {
                // Some ranks have nothing for some others, and what they have differs much.
                std::vector<std::size_t> lengths;
                for (int i = 0; i < size * size; ++i)
                    lengths.push_back(i % 3 == 1 ? 0 : n * element * static_cast<std::size_t>(1 + i % 2) + static_cast<std::size_t>(i));
                p.bytes = 0;
                set_exchange(p, lengths, 5);
            } else if (a.operation == Operation::reduce_scatter) {
                p.bytes = 0;
                std::size_t at = 0;  // side by side, as MPI has them
                for (int r = 0; r < size; ++r) {
                    p.blocks.push_back({at, r % 3 == 1 ? 0 : (n + static_cast<std::size_t>(r)) * element});
                    at += p.blocks.back().bytes;
                }
            } else if (family_of(a.operation) == Family::blocks_v) {
                // Uneven blocks, some empty, with gaps between them.
                p.bytes = 0;
                std::size_t at = 3;
                for (int r = 0; r < size; ++r) {
                    const std::size_t bytes = r % 3 == 1 ? 0 : n * element + static_cast<std::size_t>(r);
                    p.blocks.push_back({at, bytes});
                    at += bytes + 5;
                }
            }
            result.push_back(p);
            // In short pieces, and by other trees and parts than those of the defaults.
            p.parameters = {.degree = 1, .piece = 3000, .minimum = 100, .shift = 2};
            p.topology = Topology::from("2x*:cyclic", size);
            if ((n > 1000 && n < 3000) || (n > 0 && n < 10 && root == 0)) result.push_back(p);
            p.parameters = {};
            p.topology = {};
            if (family_of(a.operation) == Family::signal) return result;
        }
    return result;
}

std::vector<std::vector<Problem>> problems_of_all(int size, const std::vector<std::size_t>& elements) {
    std::vector<std::vector<Problem>> all;
    for (const Algorithm& a : algorithms()) all.push_back(problems(a, size, elements));
    return all;
}

}  // namespace fanlight::testing
