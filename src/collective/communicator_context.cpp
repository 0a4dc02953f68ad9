#include "collective/communicator_context.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "algorithms/lengths.h"
#include "algorithms/level_names.h"
#include "collective/guard.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "collective/private_communicator.h"
#include "collective/transports.h"
#include "config/config.h"
#include "select/select.h"

namespace fanlight {

namespace {

constexpr std::size_t selectors_kept = 16, calls_kept = 1024, steps_kept = std::size_t{1} << 17;

std::shared_ptr<const Selector> rules() {
    try {
        return selector();
    } catch (const std::invalid_argument& e) {
        stop(e.what());
    }
}

}  // namespace

std::shared_ptr<const Selector> selector(const std::string& chosen, const TunedRules& tuned) {
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::map<std::string, std::weak_ptr<const Selector>>;
    static auto& rules = *new std::shared_ptr<const Selector>;
    const std::scoped_lock lock(mutex);
    const std::string key = chosen + '\0' + tuned.file + '\0' + tuned.text;
    if (const auto it = all.find(key); it != all.end())
        if (auto known = it->second.lock()) return known;
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    auto made = std::make_shared<const Selector>(config().algorithm, config().rules, chosen, tuned);
    all[key] = made;
    if (chosen.empty() && tuned.text.empty()) rules = made;
    return made;
}

namespace {

Domains each_by_itself(int ranks) {
    std::vector<int> domains(static_cast<std::size_t>(ranks));
    std::iota(domains.begin(), domains.end(), 0);
    return Domains(domains);
}

}  // namespace

CommunicatorContext::CommunicatorContext(MPI_Comm comm, Topology topology, std::unique_ptr<SharedGroup> shared, int rank_, const Sharing& sharing,
                 bool oversubscribed, bool single_copy, std::size_t single_copy_from)
    : comm_(comm),
      topology_(std::move(topology)),
      map_(topology_.level(0)),
      shared_(std::move(shared)),
      sharing_(sharing),
      oversubscribed_(oversubscribed),
      single_copy_(single_copy),
      single_copy_from_(single_copy_from),
      apart_(each_by_itself(map_.ranks())),
      rank(rank_),
      size(map_.ranks()),
      guard_(config().guard == "off" ? nullptr : std::make_unique<guard::Guard>(*this, config().guard == "on", oversubscribed)),
      calls_(calls_kept, steps_kept),
      last_(operation_count()),
      last_planned_(operation_count()) {
    decide_by(rules());
}

CommunicatorContext::CommunicatorContext(const CommunicatorContext& blocking)
    : CommunicatorContext(blocking.comm_, blocking.topology_, blocking.shared_ ? std::make_unique<SharedGroup>(*blocking.shared_) : nullptr, blocking.rank,
              blocking.sharing_, blocking.oversubscribed_, blocking.single_copy_, blocking.single_copy_from_) {
    slots = blocking.slots;
    neighborhood = blocking.neighborhood;
    of_requests = true;
}

void CommunicatorContext::decide_by(std::shared_ptr<const Selector> selector) {
    if (std::ranges::find(selectors_, selector) == selectors_.end()) {
        if (selectors_.size() >= selectors_kept) forget();
        selectors_.push_back(selector);
    }
    selector_ = std::move(selector);
    for (LastCall& call : last_) call = {};
}

void CommunicatorContext::forget() {
    for (LastCall& call : last_) call = {};
    std::fill(last_planned_.begin(), last_planned_.end(), nullptr);
    without_plan_.clear();
    calls_.clear();
    selectors_.assign(1, selector_);
}

// Communicators and windows end in the same order on all ranks, those without a group on their node included.
CommunicatorContext::~CommunicatorContext() {
    if (!shared_) return;
    for (std::size_t t = 0; t < transport_names.size(); ++t) shared_->group.reach_by(static_cast<Transport>(t), nullptr);
}

Group& CommunicatorContext::alone(Transport transport) {
    std::unique_ptr<LoneGroup>& alone = alone_[transport];
    if (!alone) {
        const std::shared_ptr<RemoteTransport> remote =
            transport == Transport::message ? make_message_transport(messages(), {0, std::clamp(message_slots(), 1, slots_in_place.number)}) : make_window_transport(comm_, transport);
        alone = std::make_unique<LoneGroup>(transport, remote, sharing_);
        if (shared_) shared_->group.reach_by(transport, remote);
    }
    return alone->group;
}

std::shared_ptr<const PrivateCommunicator> CommunicatorContext::messages() {
    if (!messages_) messages_ = std::make_shared<const PrivateCommunicator>(comm_);
    return messages_;
}

void CommunicatorContext::reach_by(std::shared_ptr<RemoteTransport> remote) {
    if (shared_) shared_->group.reach_by(Transport::message, std::move(remote));
    else alone_[Transport::message] = std::make_unique<LoneGroup>(Transport::message, std::move(remote), sharing_);
}

Problem& CommunicatorContext::problem(Operation operation, int root) {
    problem_.operation = operation;
    problem_.rank = rank;
    problem_.size = size;
    problem_.root = root;
    problem_.element = 1;
    problem_.commutative = true;
    problem_.blocks.clear();
    problem_.sends.clear();
    problem_.edges.clear();
    return problem_;
}

const Decision& CommunicatorContext::decide(const Problem& problem) {
    if (lengths_are_unknown(problem.operation)) return decide_alike(problem);
    if (const Decision* d = known(problem)) return *d;
    auto made = std::make_shared<Decision>();
    made->problem = problem;
    make(*made);
    return keep(std::move(made));
}

// One decision for all lengths for which the rules choose the same.
const Decision& CommunicatorContext::decide_alike(const Problem& problem) {
    const std::size_t bytes = known_bytes(problem);
    const std::pair key(problem.operation, problem.root);
    for (const Decision* d : without_plan_[key])
        if (d->by == selector_.get() && d->alike.first <= bytes && bytes <= d->alike.second) return *d;
    auto made = std::make_shared<Decision>();
    made->problem = {.operation = problem.operation, .size = size, .root = problem.root, .bytes = bytes};
    made->alike = selector_->alike(situation(made->problem));
    made->problem.bytes = made->alike.first;
    make(*made);
    const Decision& kept = keep(std::move(made));
    without_plan_[key].push_back(&kept);
    return kept;
}

const Decision* CommunicatorContext::left_at_any_length(Operation operation, int root) {
    if (length_is_known(operation, size)) return nullptr;
    const Decision& d = decide({.operation = operation, .size = size, .root = root});
    return d.algorithm ? nullptr : &d;
}

const Decision& CommunicatorContext::planned(const Decision& d, Problem& problem) {
    problem.parameters = d.problem.parameters;
    const MostNeighbors most = neighborhood ? neighborhood->most : MostNeighbors{};
    if (Decision* const there = known(problem)) {
        // Of a rank without neighbors: what was chosen for blocks of any lengths, which has no plan before.
        Group& group = group_of(*there);
        if (there->plan.parts.empty()) group.plan(*there->algorithm, there->problem, there->plan, reach(*there), most);
        else if (!group.is_connected(there->plan)) group.connect(there->plan);
        return *there;
    }
    auto made = std::make_shared<Decision>();
    static_cast<Chosen&>(*made) = d;
    made->bytes = known_bytes(problem);
    made->problem = problem;
    made->problem.topology = topology_;
    group_of(d).plan(*d.algorithm, made->problem, made->plan, reach(d), most);
    return keep(std::move(made));
}

Decision* CommunicatorContext::known(const Problem& p) {
    Decision* d = calls_.find(p, selector_.get());
    Decision*& last_planned = last_planned_[static_cast<std::size_t>(p.operation)];
    if (d) {
        // Its lengths travel in its own memory.
        if (d->plan.lengths && d->is_in_flight()) return nullptr;
        if (!p.blocks.empty()) last_planned = d;
        return d;
    }
    if (p.blocks.empty() || !last_planned || !takes_lengths_of(*last_planned, p)) return nullptr;
    if (!group_of(*last_planned).rebind_counts(p, last_planned->plan)) return nullptr;
    LastCall& last = this->last(p.operation);
    if (last.decision == last_planned) last.count = -1;
    calls_.set_blocks(*last_planned, p);
    last_planned->bytes = known_bytes(p);
    if (last_planned->guarded && !lengths_are_unknown(p.operation)) last_planned->guarded = guarded(*last_planned);
    return last_planned;
}

// Whether the plan may become one for these, as far as the rules go.
bool CommunicatorContext::takes_lengths_of(const Decision& d, const Problem& p) const {
    if (d.by != selector_.get() || !d.algorithm || d.problem.root != p.root || d.is_in_flight()) return false;
    const std::size_t bytes = known_bytes(p);
    return (lengths_are_unknown(p.operation) || total_bytes(p) > 0) && d.alike.first <= bytes && bytes <= d.alike.second;
}

const Decision& CommunicatorContext::keep(std::shared_ptr<Decision> made) {
    if (calls_.is_full()) forget();
    Decision& kept = calls_.keep(std::move(made), selector_.get());
    if (!kept.problem.blocks.empty()) last_planned_[static_cast<std::size_t>(kept.problem.operation)] = &kept;
    return kept;
}

Situation CommunicatorContext::situation(const Problem& problem) const {
    Situation situation;
    situation.operation = problem.operation;
    situation.bytes = known_bytes(problem);
    situation.ranks = size;
    situation.nodes = map_.count();
    situation.by_levels = goes_by_levels(problem, map_);
    situation.lanes = goes_in_lanes(problem, map_);
    situation.oversubscribed = oversubscribed_;
    situation.single_copy = single_copy_;
    situation.blocking = !of_requests;
    situation.commutative = problem.commutative;
    situation.topology = topology_;
    situation.mpi = mpi_name();
    return situation;
}

Choice CommunicatorContext::choice(const Problem& problem) const {
    Problem p = problem;
    p.rank = rank;
    p.size = size;
    return selector_->choose(situation(p));
}

guard::Calls* CommunicatorContext::guarded(const Decision& d) const { return guard_->calls({situation(d.problem), d.text}); }

std::string CommunicatorContext::found(const Problem& problem) const {
    const Choice choice = this->choice(problem);
    if (!guard_ || !choice.algorithm) return {};
    Problem p = problem;
    p.rank = rank;
    p.size = size;
    return guard_->found({situation(p), text_of(*choice.algorithm, choice.parameters.levels)});
}

void CommunicatorContext::combine(Arithmetic arithmetic, const std::int64_t* mine, std::int64_t* all, std::size_t count) {
    const Decision& d = decide({.operation = Operation::allreduce, .bytes = count * sizeof *mine, .element = sizeof *mine});
    if (!d.algorithm) {
        const MPI_Op op = arithmetic == Arithmetic::max ? MPI_MAX : MPI_BAND;
        mpi().Allreduce(mine, all, static_cast<int>(count), MPI_INT64_T, op, comm_);
        return;
    }
    const Combiner combiner{fanlight::arithmetic(arithmetic, Number::int64), nullptr};
    run(d, mine, all, &combiner);
}

// Where lengths are unknown, an algorithm must serve any.
void CommunicatorContext::check_room(const Decision& d) const {
    const bool neighbors = family_of(d.algorithm->operation) == Family::neighbors;
    if (neighbors && !neighborhood) return;
    if (group_of(d).plans_any(*d.algorithm, reach(d), neighbors ? neighborhood->most : MostNeighbors{})) return;
    throw std::invalid_argument(std::string(to_string(d.algorithm->operation)) + ":" + std::string(d.algorithm->name) +
                                " cannot stage blocks of any length for so many ranks" +
                                (lengths_first(*d.algorithm) ? "" : " (it can where single copy is allowed)"));
}

// Between nodes a rank must know what is staged for it.  All ranks meet at each fence, also those of one node, which then
// wait for nothing else.
Reach CommunicatorContext::reach(const Chosen& d) const {
    if (d.transport == Transport::shared) return {};
    const Algorithm& a = *d.algorithm;
    if (map_.count() == 1 || d.transport == Transport::rma_fence || (has_root(a.operation) && lengths_are_unknown(a.operation) && !lengths_first(a)))
        return {.nodes = &apart_, .transport = d.transport};
    return {.nodes = &map_, .transport = d.transport, .single_copy = single_copy_, .oversubscribed = oversubscribed_,
            .single_copy_from = single_copy_from_};
}

void CommunicatorContext::make(Decision& d) {
    Problem& problem = d.problem;
    problem.rank = rank;
    problem.size = size;
    problem.topology = topology_;
    const Situation situation = this->situation(problem);
    const Operation operation = problem.operation;
    d.bytes = situation.bytes;
    const bool unknown = lengths_are_unknown(operation);
    if (total_bytes(problem) == 0 && operation != Operation::barrier && !unknown) {
        d.reason = Reason::no_bytes;
        return;
    }
    Choice choice;
    try {
        choice = selector_->choose(situation);
    } catch (const std::invalid_argument& e) {
        stop(e.what());
    }
    if (!choice.algorithm) {
        d.reason = Reason::rule;
        return;
    }
    d.transport = choice.transport.value_or(map_.count() > 1 ? Transport::message : Transport::shared);
    if (config().transport != "auto") d.transport = transport_from(config().transport);
    // Between nodes a rank puts what its peer knows of as well.
    const bool both_ends_know = unknown && !has_root(operation);
    const bool only_in_memory = (of_requests && (on_one_node() || (unknown && !both_ends_know && !lengths_first(*choice.algorithm)))) ||
                                (both_ends_know && on_one_node());
    const bool shared = d.transport == Transport::shared, over_windows = !shared && d.transport != Transport::message;
    if ((shared && map_.count() > 1) || (!shared && only_in_memory) || ((unknown || of_requests) && over_windows)) {
        d.reason = of_requests && unknown && !on_one_node() && !over_windows ? Reason::several_nodes : Reason::not_over_transport;
        return;
    }
    d.algorithm = choice.algorithm;
    problem.parameters = choice.parameters;
    const Reach reach = this->reach(d);
    const bool mixed = reach.nodes == &map_;
    try {
        if (!shared) d.across = of_requests ? &group() : &alone(d.transport);
        if (mixed && shared_) d.across = &shared_->group;
        if (unknown) check_room(d);
        else group_of(d).plan(*d.algorithm, problem, d.plan, reach);
    } catch (const std::invalid_argument& e) {
        const std::string why = std::string("left to the MPI library: ") + e.what();
        const bool from_file = choice.algorithm->plan != 0;
        static std::atomic<bool> said{false};  // for the first length that it meets
        if (from_file && rank == 0 && !said.exchange(true)) say(why);
        else verbose([&] { return why; }, rank);
        d.algorithm = nullptr;
        d.reason = from_file ? Reason::saved_plan : Reason::no_room;
        return;
    }
    d.text = text_of(*d.algorithm, choice.parameters.levels);
    if (guard_ && !of_requests && !choice.forced) d.guarded = guarded(d);
    if (d.plan.rebinds_counts_to) d.alike = selector_->alike(situation);
    verbose([&] {
        return std::string(to_string(operation)) + " of " + std::to_string(d.bytes) + " bytes: " + std::string(d.text) +
               (d.across ? (mixed ? " in shared memory and over " : " over ") + std::string(to_string(d.transport)) : "") +
               " by " + std::string(choice.rule) + (choice.passed_over.empty() ? "" : "; passed over: " + choice.passed_over);
    }, rank);
}

}  // namespace fanlight
