#include "collective/serving.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "algorithms/lengths.h"
#include "algorithms/level_names.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/private_communicator.h"
#include "collective/transports.h"
#include "config/config.h"
#include "select/select.h"

namespace fanlight {

namespace {

// A program whose messages have ever new lengths must not fill the memory with plans.
constexpr std::size_t selectors_kept = 16, decisions_kept = 1024, recent_kept = 512, neighbor_plans_kept = 16;

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

std::shared_ptr<const Selector> rules() {
    try {
        return selector();
    } catch (const std::invalid_argument& e) {
        stop(e.what());
    }
}

}  // namespace

std::shared_ptr<const Selector> selector(const std::string& chosen) {
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::map<std::string, std::weak_ptr<const Selector>>;
    static auto& rules = *new std::shared_ptr<const Selector>;
    const std::scoped_lock lock(mutex);
    if (const auto it = all.find(chosen); it != all.end())
        if (auto known = it->second.lock()) return known;
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    auto made = std::make_shared<const Selector>(config().algorithm, config().rules, chosen);
    all[chosen] = made;
    if (chosen.empty()) rules = made;
    return made;
}

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

SharedGroup::SharedGroup(Segment segment, int rank, int size, const Sharing& sharing, SharedLanes::Room room)
    : segment_(std::move(segment)),
      group(segment_.bytes(), rank, size, sharing.single_copy, waiting_hooks(), sharing.ranks, sharing.cores, room) {}

SharedGroup::~SharedGroup() { budget::give_back(segment_.bytes().size()); }

namespace {

Segment unshared(std::size_t bytes) {
    std::error_code error;
    Segment made = Segment::unshared(bytes, error);
    if (!made) throw std::system_error(error, "a group's memory");
    return made;
}

Domains each_by_itself(int ranks) {
    std::vector<int> domains(static_cast<std::size_t>(ranks));
    std::iota(domains.begin(), domains.end(), 0);
    return Domains(domains);
}

}  // namespace

LoneGroup::LoneGroup(std::shared_ptr<RemoteTransport> remote, const Sharing& sharing)
    : memory(unshared(Group::segment_bytes(1, SharedLanes::Room::many))),
      group(memory.bytes(), 0, 1, false, waiting_hooks(), sharing.ranks, sharing.cores, SharedLanes::Room::many) {
    group.reach_by(std::move(remote));
}

Serving::Serving(MPI_Comm comm, Topology topology, std::unique_ptr<SharedGroup> shared, int rank_, const Sharing& sharing,
                 bool oversubscribed, bool single_copy)
    : comm_(comm),
      topology_(std::move(topology)),
      map_(topology_.level(0)),
      shared_(std::move(shared)),
      sharing_(sharing),
      oversubscribed_(oversubscribed),
      single_copy_(single_copy),
      apart_(each_by_itself(map_.ranks())),
      rank(rank_),
      size(map_.ranks()),
      last_(operation_count()) {
    decide_by(rules());
}

void Serving::decide_by(std::shared_ptr<const Selector> selector) {
    if (decisions_.size() >= selectors_kept && under_way == 0) decisions_.clear();
    selector_ = std::move(selector);
    now_ = &decisions_[selector_];
    for (LastCall& call : last_) call = {};
}

// Communicators and windows end in the same order on all ranks, those without a group on their node included.
Serving::~Serving() {
    if (shared_) shared_->group.reach_by(nullptr);
}

Group& Serving::alone(Transport transport) {
    std::unique_ptr<LoneGroup>& alone = alone_[transport];
    if (!alone) {
        const std::shared_ptr<RemoteTransport> remote =
            transport == Transport::message ? make_message_transport(messages(), {0, std::clamp(message_slots(), 1, slots_in_place.number)}) : make_window_transport(comm_, transport);
        alone = std::make_unique<LoneGroup>(remote, sharing_);
        if (shared_ && transport == Transport::message) shared_->group.reach_by(remote);
    }
    return alone->group;
}

std::shared_ptr<const PrivateCommunicator> Serving::messages() {
    if (!messages_) messages_ = std::make_shared<const PrivateCommunicator>(comm_);
    return messages_;
}

void Serving::reach_by(std::shared_ptr<RemoteTransport> remote) {
    if (shared_) shared_->group.reach_by(std::move(remote));
    else alone_[Transport::message] = std::make_unique<LoneGroup>(std::move(remote), sharing_);
}

const Decision& Serving::decide(Kind&& kind) {
    auto& all = now_->all;
    if (const auto it = all.find(kind); it != all.end()) return *it->second;
    // One call is this one.
    if (all.size() >= decisions_kept && under_way <= 1) {
        for (LastCall& call : last_) call = {};
        all.clear();
    }
    auto made = std::make_unique<Decision>();
    make(kind, *made);
    return *all.emplace(std::move(kind), std::move(made)).first->second;
}

const Decision& Serving::decide(const std::vector<std::size_t>& blocks) {
    if (const Decision* d = relengthed(blocks)) return *d;
    std::vector<Recent>& recent = now_->recent;
    if (recent.empty()) recent.resize(recent_kept);
    std::uint64_t h = 0;
    for (const std::size_t b : blocks) h = (h ^ b) * 0x9e3779b97f4a7c15u;
    Recent& r = recent[(h >> 32) % recent_kept];
    if (r.kind.blocks == blocks) return r.decision;
    forget_last_calls(r.decision);
    r.kind.operation = Operation::allgatherv;
    r.kind.blocks = blocks;
    make(r.kind, r.decision);
    keep_for_any_lengths(r);
    return r.decision;
}

void Serving::forget_last_calls(const Decision& of) {
    for (LastCall& call : last_)
        if (call.decision == &of) call.count = -1;
}

const Decision* Serving::relengthed(const std::vector<std::size_t>& blocks) {
    AnyLengths& any = now_->any_lengths;
    if (any.to == 0) return nullptr;
    std::size_t total = 0;
    bool same = any.decision.bytes > 0;
    for (std::size_t r = 0; r < blocks.size(); total += blocks[r], ++r) {
        const Block block{total, blocks[r]};
        same = same && any.problem.blocks[r] == block;
        any.problem.blocks[r] = block;
    }
    if (same) return &any.decision;
    any.decision.bytes = 0;  // no length's, unless it becomes this one's
    const std::size_t mean = total / blocks.size();
    if (total == 0 || mean < any.from || mean > any.to) return nullptr;
    if (!shared_->group.relength(any.problem, any.decision.plan)) return nullptr;
    forget_last_calls(any.decision);
    any.decision.bytes = mean;
    return &any.decision;
}

void Serving::keep_for_any_lengths(const Recent& made) {
    if (!made.decision.algorithm || made.decision.across) return;
    AnyLengths& any = now_->any_lengths;
    if (any.to > 0 && made.decision.bytes >= any.from && made.decision.bytes <= any.to) return;  // it is there
    forget_last_calls(any.decision);
    any.decision.bytes = 0;
    any.decision.algorithm = made.decision.algorithm;
    any.decision.text = made.decision.text;
    any.decision.parameters = made.decision.parameters;
    // Made of blocks none of which is empty.
    set_problem(any.problem, made.kind, rank, size);
    any.problem.parameters = made.decision.parameters;
    const Situation situation = this->situation(made.kind, any.problem);
    for (std::size_t r = 0; r < any.problem.blocks.size(); ++r) any.problem.blocks[r] = {r, 1};
    shared_->group.plan(*any.decision.algorithm, any.problem, any.decision.plan);
    std::tie(any.from, any.to) = selector_->alike(situation);
    if (any.decision.plan.relengths_to == 0) any.to = 0;
}

const Decision& Serving::decide_blindly(Operation operation, int root) {
    LastCall& last = this->last(operation);
    if (!last.decision || last.root != root) last = {.decision = &decide({.operation = operation, .root = root}), .root = root};
    return *last.decision;
}

Situation Serving::situation(const Kind& kind, const Problem& problem) const {
    Situation situation;
    situation.operation = kind.operation;
    situation.bytes = kind.bytes;
    if (!kind.blocks.empty()) {
        for (const std::size_t b : kind.blocks) situation.bytes += b;
        situation.bytes /= static_cast<std::size_t>(size);
    }
    situation.ranks = size;
    situation.nodes = map_.count();
    situation.by_levels = goes_by_levels(problem, map_);
    situation.lanes = goes_in_lanes(problem, map_) && (config().transport == "auto" || config().transport == "message");
    situation.oversubscribed = oversubscribed_;
    situation.single_copy = single_copy_;
    situation.commutative = kind.commutative;
    situation.mpi = mpi_name();
    return situation;
}

Choice Serving::choice(const Kind& kind) const {
    Problem problem;
    set_problem(problem, kind, rank, size);
    return selector_->choose(situation(kind, problem));
}

namespace {

// No rank knows those of others beforehand.
bool lengths_are_unknown(Operation o) {
    return family_of(o) == Family::neighbors || (family_of(o) == Family::blocks_v && o != Operation::allgatherv && o != Operation::reduce_scatter);
}

}  // namespace

// Where lengths are unknown, an algorithm must serve any.
void Serving::check_room(const Algorithm& algorithm, const Decision& d) const {
    const bool neighbors = family_of(algorithm.operation) == Family::neighbors;
    const Reach reach = this->reach(algorithm, d.transport);
    if (neighbors ? !neighborhood || group_of(d).plans_neighbors(algorithm, neighborhood->most, reach) : group_of(d).plans_whole(algorithm, reach)) return;
    throw std::invalid_argument(std::string(to_string(algorithm.operation)) + ":" + std::string(algorithm.name) +
                                " cannot stage blocks of any length for so many ranks (it can where single copy is allowed)");
}

// Between nodes a rank must know what is staged for it.
Reach Serving::reach(const Algorithm& a, Transport transport) const {
    if (transport == Transport::shared) return {};
    if (map_.count() == 1 || transport != Transport::message || (has_root(a.operation) && lengths_are_unknown(a.operation) && !lengths_first(a))) return {.nodes = &apart_, .transport = transport};
    return {.nodes = &map_, .single_copy = single_copy_, .oversubscribed = oversubscribed_};
}

void Serving::make(const Kind& kind, Decision& decision) {
    Problem& problem = problem_;
    set_problem(problem, kind, rank, size);
    problem.topology = topology_;
    const Situation situation = this->situation(kind, problem);

    decision.algorithm = nullptr;
    decision.across = nullptr;
    decision.reason = Reason::none;
    decision.bytes = situation.bytes;
    const bool unknown = lengths_are_unknown(kind.operation);
    if (total_bytes(problem) == 0 && kind.operation != Operation::barrier && !unknown) {
        decision.reason = Reason::no_bytes;
        return;
    }
    Choice choice;
    try {
        choice = selector_->choose(situation);
    } catch (const std::invalid_argument& e) {
        stop(e.what());
    }
    if (!choice.algorithm) {
        decision.reason = Reason::rule;
        return;
    }
    Transport transport = choice.transport.value_or(map_.count() > 1 ? Transport::message : Transport::shared);
    if (config().transport != "auto") transport = transport_from(config().transport);
    // Between nodes a rank puts what its peer knows of as well.
    const bool both_ends_know = unknown && !has_root(kind.operation);
    const bool only_in_memory = (of_requests && (on_one_node() || (unknown && !both_ends_know && !lengths_first(*choice.algorithm)))) ||
                                (both_ends_know && on_one_node());
    const bool over_windows = transport != Transport::shared && transport != Transport::message;
    if ((transport == Transport::shared && map_.count() > 1) || (transport != Transport::shared && only_in_memory) || ((unknown || of_requests) && over_windows)) {
        decision.reason = of_requests && unknown && !on_one_node() && !over_windows ? Reason::several_nodes : Reason::not_over_transport;
        return;
    }
    decision.parameters = problem.parameters = choice.parameters;
    decision.transport = transport;
    const Reach reach = this->reach(*choice.algorithm, transport);
    const bool mixed = reach.nodes == &map_;
    try {
        if (transport != Transport::shared) decision.across = of_requests ? &group() : &alone(transport);
        if (mixed && shared_) decision.across = &shared_->group;
        if (!unknown)
            group_of(decision).plan(*choice.algorithm, problem, decision.plan, reach);
        else
            check_room(*choice.algorithm, decision);
    } catch (const std::invalid_argument& e) {
        verbose([&] { return std::string("left to the MPI library: ") + e.what(); }, rank);
        decision.reason = Reason::no_room;
        return;
    }
    decision.algorithm = choice.algorithm;
    decision.text = text_of(*choice.algorithm, choice.parameters.levels);
    verbose([&] {
        return std::string(to_string(kind.operation)) + " of " + std::to_string(decision.bytes) + " bytes: " + std::string(decision.text) +
               (decision.across ? (mixed ? " in shared memory and over " : " over ") + std::string(to_string(transport)) : "") +
               " by " + std::string(choice.rule);
    }, rank);
}

const Plan& Serving::neighbor_plan(const Decision& d, const Problem& problem) {
    for (const auto& known : neighbor_plans_)
        if (known->algorithm == d.algorithm && known->parameters == problem.parameters && known->edges == problem.edges)
            return known->plan;
    const std::size_t place = neighbor_plans_made_++ % neighbor_plans_kept;
    if (place == neighbor_plans_.size()) neighbor_plans_.push_back(std::make_unique<NeighborPlan>());
    NeighborPlan& made = *neighbor_plans_[place];
    for (LastCall& call : last_)
        if (call.plan == &made.plan) call = {};
    made.algorithm = d.algorithm;
    made.parameters = problem.parameters;
    made.edges = problem.edges;
    plan_neighbors(d, problem, made.plan);
    return made.plan;
}

void Serving::plan_neighbors(const Decision& d, const Problem& problem, Plan& plan) {
    group_of(d).plan_neighbors(*d.algorithm, problem, neighborhood->most, plan, reach(*d.algorithm, d.transport));
}

void Serving::run_whole(const Decision& d, const Problem& problem, const void* input, void* output) {
    group_of(d).run_whole(*d.algorithm, problem, input, output, reach(*d.algorithm, d.transport));
}

void Serving::plan_whole(const Decision& d, const Problem& problem, Plan& plan) {
    group_of(d).plan_whole(*d.algorithm, problem, plan, reach(*d.algorithm, d.transport));
}

}  // namespace fanlight
