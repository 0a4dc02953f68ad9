#include "collective/activation.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective/hooks.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/meeting.h"
#include "collective/progress_hook.h"
#include "collective/requests.h"
#include "config/config.h"
#include "execute/copy_speed.h"
#include "schedule/topology.h"
#include "topology/cores.h"
#include "topology/location.h"
#include "topology/single_copy.h"

namespace fanlight {

namespace {

std::string kibibytes(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

// Whether this rank can read and write the memory of all others.
bool reaches_all(const std::vector<Presence>& all, int rank) {
    if (config().single_copy == "off") return false;
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (r == static_cast<std::size_t>(rank)) continue;
        if (all[r].token == 0) return false;
        const SingleCopyProbe probe = probe_single_copy(
            static_cast<pid_t>(all[r].pid), reinterpret_cast<const void*>(all[r].address), all[r].token);
        if (!probe.allowed) {
            verbose([&] { return "no single copy: " + probe.why_not; }, rank);
            return false;
        }
    }
    return true;
}

// From how many bytes on single copy pays, measured with the first communicator that this process is served on, and kept: 0:
// never; -1: not yet.
std::atomic<int> single_copy_pays_from{-1};

// Whether single copy pays, for all that this rank knows; by all ranks together.  `reaches`: this one reads the others' memory.
bool single_copy_pays(CopySpeed* speed, const std::vector<Presence>& all, int rank, MPI_Comm comm, bool reaches) {
    const int next = (rank + 1) % static_cast<int>(all.size());
    const Presence& p = all[static_cast<std::size_t>(next)];
    const bool measures = reaches && speed && p.blocks, has_read = measures && speed->read(next, static_cast<pid_t>(p.pid), p.blocks);
    mpi().Barrier(comm);
    if (measures) single_copy_pays_from = has_read ? static_cast<int>(speed->copied_once_from()) : 0;
    if (!reaches) return false;
    if (single_copy_pays_from != 0) return true;
    verbose([] { return std::string("no single copy: it takes more than three times as long here as two copies through shared memory"); }, rank);
    return false;
}

// The ranks of the job on this node that share the cores of these ones' masks, `size` ranks at least.  By what launchers tell
// them; asking MPI would need all of them, here are those of one communicator.  Of ranks that are bound to parts of the
// node each part has its share.
int ranks_on(int cores, int size) {
    // What the launcher, whose child this is, may bind ranks to.
    const pid_t launcher[] = {getppid(), 0};
    const int all = std::min(cores_of_cpuset(), affinity_cores(launcher));
    if (cores > all) return size;  // each in a cpuset of its own
    int ranks = size;
    for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"})
        if (const char* text = std::getenv(name)) ranks = std::max(ranks, std::atoi(text));
    return std::max(size, static_cast<int>((std::int64_t{ranks} * cores + all - 1) / std::max(all, 1)));
}

Sharing sharing(const std::vector<Presence>& all, const Presence& own) {
    std::vector<pid_t> pids;
    for (const Presence& p : all)
        if (own.pid_namespace != 0 && p.pid_namespace == own.pid_namespace) pids.push_back(static_cast<pid_t>(p.pid));
    return {false, 0, ranks_on(affinity_cores(pids), static_cast<int>(all.size())), usable_cores(pids)};
}

// What all ranks of a communicator share a node for; null, and why, where they do not.  `mine`: why this
// rank cannot take part.
std::unique_ptr<SharedGroup> share(MPI_Comm comm, int rank, int size, Sharing& agreed, Reason& reason, Reason mine = Reason::none) {
    const SharedSlots layout(nullptr, size);
    Meeting meeting = meet(comm, rank, size, layout, config().single_copy == "auto" && single_copy_pays_from < 0, mine);
    reason = meeting.reason;
    if (reason != Reason::none) {
        if (reason != Reason::several_nodes)
            verbose([&] { return "a communicator of " + std::to_string(size) + " ranks stays with the MPI library: " +
                                 to_string(reason); }, rank);
        return nullptr;
    }
    const std::vector<Presence>& all = meeting.all;

    // 3. What is not the same for all must be agreed on: who can read whose memory and whether
    //    that is the faster way, and how many ranks share how many cores.
    const Sharing own = sharing(all, meeting.own);
    int least[5] = {0, 0, 0, 0, 0};
    const auto agree = [&] {
        const bool reaches = reaches_all(all, rank), copies = single_copy_pays(meeting.speed.get(), all, rank, comm, reaches);
        const int facts[5] = {reaches, copies, -own.ranks, own.cores, -std::max(single_copy_pays_from.load(), 0)};
        mpi().Allreduce(facts, least, 5, MPI_INT, MPI_MIN, comm);
    };
    bool readable = let_others_read(true);
    agree();
    if (!least[0] && config().single_copy != "off") {
        if (!readable) readable = let_others_read();
        const int mine_is = readable;
        int any = 0;
        mpi().Allreduce(&mine_is, &any, 1, MPI_INT, MPI_MAX, comm);
        if (any) agree();
    }
    agreed = {least[1] != 0, static_cast<std::size_t>(-least[4]), -least[2], least[3]};
    if (readable && !agreed.single_copy) let_others_read_no_more();

    enum { failed, made, made_with_more_slots };
    int own_group = failed, groups = failed;
    std::unique_ptr<SharedGroup> group;
    try {
        std::vector<int> world_ranks;
        for (const Presence& p : all) world_ranks.push_back(static_cast<int>(p.world_rank));
        group = std::make_unique<SharedGroup>(std::move(meeting.segment), rank, std::move(world_ranks), agreed);
        own_group = group->group.reserve_more_slots() ? made_with_more_slots : made;
    } catch (const std::exception& e) {
        say(std::string("a group could not be set up: ") + e.what());
        if (!group) budget::give_back(layout.bytes());
        group.reset();
    }

    // 4. Also the barrier between making the group and its first operation.
    mpi().Allreduce(&own_group, &groups, 1, MPI_INT, MPI_MIN, comm);
    if (groups == failed) {
        reason = Reason::setup_failed;
        return nullptr;
    }
    group->settle_slots(groups == made_with_more_slots);
    const std::size_t more = groups == made_with_more_slots ? layout.more_slots_bytes() : 0, unused = layout.more_slots_bytes() - more;
    const auto of_all = [&](std::size_t bytes) { return megabytes(static_cast<std::size_t>(size) * bytes); };
    const std::size_t from = agreed.single_copy ? agreed.single_copy_from : 0;
    verbose([&] { return "serves a communicator of " + std::to_string(size) + " ranks, " +
                         of_all(layout.reserved_bytes() + more) + " of shared memory (up to " + of_all(layout.part_bytes() - unused) +
                         "), single copy " + (agreed.single_copy ? "yes" : "no") +
                         (from >= CopySpeed::never ? ", only where a rule says so" : from ? " from " + std::to_string(from) + " bytes on" : "") + ", " +
                         std::to_string(agreed.ranks) + " ranks on " + std::to_string(agreed.cores) + " cores"; }, rank);
    return group;
}

// What FANLIGHT_TOPOLOGY says of these ranks, by their ranks in MPI_COMM_WORLD.  None where they are of
// several worlds, of which some were spawned.
Topology pretended_topology(MPI_Comm comm, int size) {
    if (config().topology.empty()) return {};
    int own[2] = {0, 0};
    mpi().Comm_rank(MPI_COMM_WORLD, &own[0]);
    mpi().Comm_size(MPI_COMM_WORLD, &own[1]);
    std::vector<int> all(2 * static_cast<std::size_t>(size));
    mpi().Allgather(own, 2, MPI_INT, all.data(), 2, MPI_INT, comm);
    std::vector<int> ranks;
    for (std::size_t r = 0; r < all.size(); r += 2) {
        if (all[r + 1] != all[1] || std::find(ranks.begin(), ranks.end(), all[r]) != ranks.end()) return {};
        ranks.push_back(all[r]);
    }
    try {
        return Topology::from(config().topology, own[1]).among(ranks);
    } catch (const std::invalid_argument& e) {
        stop(std::string("FANLIGHT_TOPOLOGY: ") + e.what());
    }
}

// What all ranks say of where they are; `node` is the number of this one's.
Topology real_topology(MPI_Comm comm, int size, int node) {
    static const Location own = location_of(own_cpus());
    Location location = config().rounding == "nodes" ? Location{} : own;
    location.node = node;
    std::vector<Location> all(static_cast<std::size_t>(size));
    mpi().Allgather(&location, sizeof location, MPI_BYTE, all.data(), sizeof location, MPI_BYTE, comm);
    return topology_of(all);
}

bool several_nodes(const Topology& t) { return t.levels() > 0 && t.level(0).count() > 1; }

// The same for two containers of one machine that share /dev/shm.
int number_of_dev_shm() {
    struct stat facts{};
    return ::stat("/dev/shm", &facts) == 0 ? static_cast<int>(facts.st_dev & INT_MAX) : 0;
}

// What counts as a node: a machine, or what shares memory on it.
enum class Nodes { machines, containers };

// A communicator of this rank's node; the real nodes become the topology.
MPI_Comm split_by_node(MPI_Comm comm, int rank, int size, Nodes nodes, Topology& topology) {
    MPI_Comm node = MPI_COMM_NULL;
    if (several_nodes(topology)) {
        mpi().Comm_split(comm, topology.level(0).of(rank), rank, &node);
        return node;
    }
    mpi().Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (nodes == Nodes::containers) {
        MPI_Comm machine = node;
        mpi().Comm_split(machine, number_of_dev_shm(), rank, &node);
        mpi().Comm_free(&machine);
    }
    int leader = rank;
    mpi().Bcast(&leader, 1, MPI_INT, 0, node);
    topology = real_topology(comm, size, leader);
    return node;
}

// A group for each node.
std::unique_ptr<CommunicatorContext> activate_nodes(MPI_Comm comm, int rank, int size, Nodes nodes, Topology topology, Reason& reason) {
    MPI_Comm node = split_by_node(comm, rank, size, nodes, topology);
    int node_rank = 0, node_size = 0;
    mpi().Comm_rank(node, &node_rank);
    mpi().Comm_size(node, &node_size);

    Sharing sharing{true, 0, ranks_on(affinity_cores(), 1), usable_cores()};
    std::unique_ptr<SharedGroup> shared;
    reason = Reason::none;
    if (node_size > 1) shared = share(node, node_rank, node_size, sharing, reason);
    mpi().Comm_free(&node);

    const bool crowded = shared ? shared->group.oversubscribed() : sharing.ranks > sharing.cores;
    // A rank that is alone on its node copies nothing, and measured nothing; that one copy never pays is measured.
    constexpr int unknown = std::numeric_limits<int>::max();
    const auto from = static_cast<int>(std::min<std::size_t>(sharing.single_copy_from, unknown - 1));
    const int facts[5] = {-static_cast<int>(reason), -static_cast<int>(crowded), sharing.single_copy, progress_hook::exists() ? message_slots() : 0,
                          from ? from : unknown};
    int least[5] = {0, 0, 0, 0, 0};
    mpi().Allreduce(facts, least, 5, MPI_INT, MPI_MIN, comm);
    reason = static_cast<Reason>(-least[0]);
    if (reason != Reason::none) return nullptr;
    verbose([&] { return "serves a communicator of " + std::to_string(size) + " ranks on " + std::to_string(topology.level(0).count()) +
                         " nodes"; }, rank);
    auto context = std::make_unique<CommunicatorContext>(comm, std::move(topology), std::move(shared), rank, sharing, least[1] != 0, least[2] != 0,
                                                         least[4] == unknown ? 0 : static_cast<std::size_t>(least[4]));
    context->slots = least[3];
    return context;
}

std::unique_ptr<CommunicatorContext> context_on_one_node(MPI_Comm comm, int rank, int size, std::unique_ptr<SharedGroup> shared,
                                             const Sharing& sharing, Topology topology) {
    if (topology.levels() == 0) topology = real_topology(comm, size, 0);
    if (const Topology said = topology.simplified(); said.levels() > 0)
        verbose([&] { return std::to_string(size) + " ranks in domains " + said.text(); }, rank);
    const bool crowded = shared->group.oversubscribed();
    return std::make_unique<CommunicatorContext>(comm, std::move(topology), std::move(shared), rank, sharing, crowded, sharing.single_copy,
                                                 sharing.single_copy_from);
}

}  // namespace

namespace {

bool has_slots(const CommunicatorContext& blocking, Slots slots, Reason& reason) {
    reason = blocking.slots ? Reason::no_room : Reason::no_hook;
    return slots.first + slots.number <= blocking.slots;
}

}  // namespace

std::unique_ptr<CommunicatorContext> activate_for_requests(CommunicatorContext& blocking, MPI_Comm comm, int rank, int size, Slots slots, Reason& reason) {
    reason = Reason::waits_elsewhere;
    if (!waits_come_here()) return nullptr;
    if (!blocking.on_one_node()) {
        if (!has_slots(blocking, slots, reason)) return nullptr;
        auto context = activate_nodes(comm, rank, size, Nodes::machines, blocking.topology(), reason);
        if (!context) return nullptr;
        context->reach_by(make_message_transport(blocking.messages(), slots));
        context->of_requests = true;
        return context;
    }
    Sharing sharing;
    const Reason mine = requests::can_be_in_flight() ? Reason::none : Reason::no_thread;
    auto shared = share(comm, rank, size, sharing, reason, mine);
    if (!shared) return nullptr;
    auto context = context_on_one_node(comm, rank, size, std::move(shared), sharing, blocking.topology());
    context->of_requests = true;
    return context;
}

std::unique_ptr<CommunicatorContext> activate_for_persistent(CommunicatorContext& blocking, Slots slots, Reason& reason) {
    reason = Reason::waits_elsewhere;
    if (!waits_come_here() || (!blocking.on_one_node() && !has_slots(blocking, slots, reason))) return nullptr;
    auto context = std::make_unique<CommunicatorContext>(blocking);
    if (!blocking.on_one_node()) context->reach_by(make_message_transport(blocking.messages(), slots));
    return context;
}

namespace {

// On this node, of whose ranks `comm` is.
Reason give_memory(SharedGroup& shared, SharedSlots::Extent extent, MPI_Comm comm) {
    const Group& group = shared.group;
    Meeting meeting = meet(comm, group.rank(), group.size(), group.layout(extent), false, Reason::none);
    if (meeting.reason == Reason::none) shared.place(std::move(meeting.segment), extent);
    return meeting.reason;
}

}  // namespace

bool give_memory(CommunicatorContext& persistent, const Decision& d, CommunicatorContext& blocking, MPI_Comm comm, int rank, int size, Reason& reason) {
    SharedGroup* const shared = persistent.shared();
    Plan& plan = persistent.plan_of(d);
    const SharedSlots::Extent mine = extent_of(plan);
    const std::int64_t own[3]{std::min(mine.peers, size), mine.offers, persistent.on_one_node() && !requests::can_be_in_flight()};
    std::int64_t most[3];
    blocking.combine(Arithmetic::max, own, most, 3);
    reason = most[2] ? Reason::no_thread : Reason::none;
    SharedSlots::Extent& memory = persistent.memory;
    const SharedSlots::Extent extent{std::max(memory.peers, static_cast<int>(most[0])), std::max(memory.offers, static_cast<int>(most[1]))};
    const bool has_room = memory.holds(extent);
    if (!has_room && reason == Reason::none) {
        memory = {-1, -1};
        MPI_Comm node = comm;
        if (!persistent.on_one_node()) mpi().Comm_split(comm, persistent.topology().level(0).of(rank), rank, &node);
        if (shared) reason = give_memory(*shared, extent, node);
        if (node != comm) mpi().Comm_free(&node);
    }
    if (shared && reason == Reason::none) shared->group.introduce(plan);
    const std::int64_t failed = static_cast<std::int64_t>(reason);
    std::int64_t first = 0;
    blocking.combine(Arithmetic::max, &failed, &first, 1);
    reason = static_cast<Reason>(first);
    if (reason != Reason::none) {
        verbose([&] { return std::string("a persistent ") + std::string(to_string(d.problem.operation)) + " stays with the MPI library: " + to_string(reason); }, rank);
        return false;
    }
    if (!has_room) memory = extent;
    if (shared) shared->group.connect(plan);
    if (!has_room)
        verbose([&] { return std::string("serves a persistent ") + std::string(to_string(d.problem.operation)) + " of " + std::to_string(size) + " ranks" +
                             (shared ? ", " + kibibytes(shared->group.layout(extent).bytes()) + " of shared memory" : ""); }, rank);
    return true;
}

std::unique_ptr<CommunicatorContext> activate(MPI_Comm comm, int rank, int size, Reason& reason) {
    const Topology pretended = pretended_topology(comm, size);
    if (!several_nodes(pretended)) {
        Sharing sharing;
        if (auto shared = share(comm, rank, size, sharing, reason))
            return context_on_one_node(comm, rank, size, std::move(shared), sharing, pretended);
        if (reason != Reason::several_nodes) return nullptr;
    }
    auto context = activate_nodes(comm, rank, size, Nodes::machines, pretended, reason);
    if (!context && reason == Reason::several_nodes && !several_nodes(pretended)) context = activate_nodes(comm, rank, size, Nodes::containers, pretended, reason);
    return context;
}

}  // namespace fanlight
