#include "collective/serving.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "collective/hooks.h"
#include "collective/library.h"
#include "config/config.h"
#include "select/select.h"

namespace fanlight {

namespace {

// A program whose messages have ever new lengths must not fill the memory with plans.
constexpr std::size_t decisions_kept = 1024, recent_kept = 512;

const Selector& selector() {
    static const Selector& s = [] () -> const Selector& {
        try {
            return *new Selector(config().algorithm, config().rules);
        } catch (const std::invalid_argument& e) {
            stop(e.what());
        }
    }();
    return s;
}

void set_problem(Problem& p, const Kind& kind, int rank, int size) {
    p.operation = kind.operation;
    p.rank = rank;
    p.size = size;
    p.root = kind.root;
    p.bytes = kind.bytes;
    p.element = kind.element;
    p.commutative = kind.commutative;
    p.blocks.clear();
    std::size_t offset = 0;
    for (const std::size_t bytes : kind.blocks) {
        p.blocks.push_back({offset, bytes});
        offset += bytes;
    }
}

}  // namespace

namespace budget {

namespace {
std::atomic<std::size_t> taken{0};
}

bool take(std::size_t bytes) {
    if (taken.fetch_add(bytes) + bytes <= config().shared_memory) return true;
    taken.fetch_sub(bytes);
    return false;
}

void give_back(std::size_t bytes) { taken.fetch_sub(bytes); }

}  // namespace budget

std::size_t KindHash::operator()(const Kind& k) const {
    std::uint64_t h = static_cast<std::uint64_t>(k.operation) << 1 | k.commutative;
    const auto mix = [&](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u; h ^= h >> 32; };
    mix(static_cast<std::uint64_t>(k.root));
    mix(k.bytes);
    mix(k.element);
    for (const std::size_t b : k.blocks) mix(b);
    return h;
}

Serving::Serving(Segment segment, int rank_, int size_, bool single_copy, int ranks_on_node, int cores)
    : segment_(std::move(segment)),
      group(segment_.bytes(), rank_, size_, single_copy, waiting_hooks(), ranks_on_node, cores),
      rank(rank_),
      size(size_),
      last_(operation_count()) {}

Serving::~Serving() { budget::give_back(segment_.bytes().size()); }

const Decision& Serving::decide(Kind&& kind) {
    if (const auto it = decisions_.find(kind); it != decisions_.end()) return *it->second;
    if (decisions_.size() >= decisions_kept) {
        for (LastCall& call : last_) call = {};
        decisions_.clear();
    }
    auto made = std::make_unique<Decision>();
    make(kind, *made);
    return *decisions_.emplace(std::move(kind), std::move(made)).first->second;
}

const Decision& Serving::decide(const std::vector<std::size_t>& blocks) {
    if (recent_.empty()) recent_.resize(recent_kept);
    std::uint64_t h = 0;
    for (const std::size_t b : blocks) h = (h ^ b) * 0x9e3779b97f4a7c15u;
    Recent& r = recent_[(h >> 32) % recent_kept];
    if (r.kind.blocks == blocks) return r.decision;
    for (LastCall& call : last_)
        if (call.decision == &r.decision) call.count = -1;
    r.kind.operation = Operation::allgatherv;
    r.kind.blocks = blocks;
    make(r.kind, r.decision);
    return r.decision;
}

void Serving::make(const Kind& kind, Decision& decision) {
    Problem& problem = problem_;
    set_problem(problem, kind, rank, size);
    Situation situation;
    situation.operation = kind.operation;
    situation.bytes = kind.bytes;
    if (!kind.blocks.empty()) {
        for (const std::size_t b : kind.blocks) situation.bytes += b;
        situation.bytes /= static_cast<std::size_t>(size);
    }
    situation.ranks = size;
    situation.oversubscribed = group.oversubscribed();
    situation.single_copy = group.single_copy();
    situation.commutative = kind.commutative;
    situation.mpi = mpi_name();

    decision.algorithm = nullptr;
    decision.reason = Reason::none;
    decision.bytes = situation.bytes;
    const bool lengths_are_unknown = family_of(kind.operation) == Family::blocks_v && kind.blocks.empty();
    if (total_bytes(problem) == 0 && kind.operation != Operation::barrier && !lengths_are_unknown) {
        decision.reason = Reason::no_bytes;
        return;
    }
    Choice choice;
    try {
        choice = selector().choose(situation);
    } catch (const std::invalid_argument& e) {
        stop(e.what());
    }
    if (!choice.algorithm) {
        decision.reason = Reason::rule;
        return;
    }
    decision.parameters = problem.parameters = choice.parameters;
    if (!lengths_are_unknown) {
        try {
            group.plan(*choice.algorithm, problem, decision.plan);
        } catch (const std::invalid_argument& e) {
            verbose([&] { return std::string("left to the MPI library: ") + e.what(); }, rank);
            decision.reason = Reason::no_room;
            return;
        }
    }
    decision.algorithm = choice.algorithm;
    verbose([&] {
        return std::string(to_string(kind.operation)) + " of " + std::to_string(decision.bytes) + " bytes: " +
               std::string(choice.algorithm->name) + " by " + std::string(choice.rule);
    }, rank);
}

}  // namespace fanlight
