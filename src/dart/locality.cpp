// Where a team's units run.  The tree: all, nodes, modules (one for each node, because no units run on other kinds of
// devices), packages, NUMA domains and caches as they contain each other, units, cores.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "dart/domain.h"
#include "dart/names.h"
#include "topology/cores.h"
#include "topology/machine.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {

// The fields are int: what is more than fits is the most that fits.
int clamped(double n) { return static_cast<int>(std::min<double>(n, INT_MAX)); }
int known_or(std::size_t n) { return n > 0 ? clamped(static_cast<double>(n)) : -1; }

dart_locality_scope_t scope_of(Enclosing::Kind kind) {
    switch (kind) {
        case Enclosing::Kind::numa: return DART_LOCALITY_SCOPE_NUMA;
        case Enclosing::Kind::package: return DART_LOCALITY_SCOPE_PACKAGE;
        case Enclosing::Kind::cache: return DART_LOCALITY_SCOPE_CACHE;
    }
    return DART_LOCALITY_SCOPE_UNDEFINED;
}

// What a unit knows of its own place, and tells the others.
struct Own {
    dart_hwinfo_t hardware;
    int cores;  // of its node, which its units may really use
    int depth;
    // NUMA domain, package, caches.
    std::array<Enclosing, 2 + DART_LOCALITY_MAX_CACHE_LEVELS> parts;
};

Own own() {
    // Read once: thousands of files on a large machine.
    static const auto& machine = *new Processors(read_machine());
    static const auto& caches = *new std::vector<Cache>(read_caches(machine));
    const Cpus cpus = own_cpus();
    Own own{};
    own.cores = global::runtime.cores;
    if (!machine.cores.empty()) own.cores = std::min(own.cores, static_cast<int>(machine.cores.size()));
    for (const Enclosing& part : enclosing(machine, caches, cpus))
        if (part.level <= DART_LOCALITY_MAX_CACHE_LEVELS) own.parts[static_cast<std::size_t>(own.depth++)] = part;

    dart_hwinfo_t& hw = own.hardware;
    hw.num_cores = 1;
    hw.num_sockets = machine.packages.empty() ? -1 : static_cast<int>(machine.packages.size());
    hw.num_numa = machine.numas.empty() ? -1 : static_cast<int>(machine.numas.size());
    std::fill_n(hw.cache_sizes, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    std::fill_n(hw.cache_line_sizes, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    std::fill_n(hw.cache_ids, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    const int first = cpus.empty() ? -1 : cpus.front();
    for (const Cache& cache : caches) {
        if (cache.level > DART_LOCALITY_MAX_CACHE_LEVELS || !std::ranges::binary_search(cache.cpus, first)) continue;
        hw.cache_sizes[cache.level - 1] = known_or(cache.bytes);
        hw.cache_line_sizes[cache.level - 1] = known_or(cache.line);
        if (std::ranges::includes(cache.cpus, cpus)) hw.cache_ids[cache.level - 1] = cache.number;
    }
    const Clock clock = read_clock(first);
    hw.min_cpu_mhz = clock.least;
    hw.max_cpu_mhz = clock.most;
    hw.min_threads = hw.max_threads = 1;
    for (const CpuGroup& core : machine.cores) hw.max_threads = std::max(hw.max_threads, static_cast<int>(core.cpus.size()));
    hw.max_shmem_mbps = -1;
    const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    hw.system_memory_bytes = clamped(memory);
    const CpuGroup* const numa = group_of(machine.numas, cpus);
    hw.numa_memory_bytes = numa ? known_or(memory_bytes(numa->number)) : -1;
    return own;
}

struct Locality {
    Domain* root = nullptr;
    std::vector<dart_unit_locality_t> units;
    ~Locality() {
        if (root) destroy(root);
    }
};

std::mutex known_mutex;
std::map<std::int32_t, std::unique_ptr<Locality>>& localities() {
    static auto& all = *new std::map<std::int32_t, std::unique_ptr<Locality>>;
    return all;
}

// The children by their parent, scope, level of cache and number.
using Children = std::map<std::tuple<const Domain*, int, int, int>, Domain*>;

// The child that stands for that; made where there is none yet.
Domain& child(Domain& parent, Children& children, dart_locality_scope_t scope, int number, int level) {
    Domain*& d = children[{&parent, scope, level, number}];
    if (!d) {
        d = new_domain(scope);
        d->team = parent.team;
        insert(parent, d, parent.num_domains);
    }
    return *d;
}

void set_host(char (&to)[DART_LOCALITY_HOST_MAX_SIZE], const char* host) {
    std::string(host).copy(to, DART_LOCALITY_HOST_MAX_SIZE - 1);
}

std::unique_ptr<Locality> make(const global::Team& team) {
    auto made = std::make_unique<Locality>();
    std::vector<Own> told(static_cast<std::size_t>(team.size));
    const Own mine = own();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, told.data(), sizeof mine, MPI_BYTE, team.comm);
    made->root = new_domain(DART_LOCALITY_SCOPE_GLOBAL);
    made->root->team = slot_of(team.id);
    Children children;
    std::vector<Domain*> of_unit;
    for (int u = 0; u < team.size; ++u) {
        const int world = team.world[static_cast<std::size_t>(u)];
        const global::Place& place = global::runtime.places[static_cast<std::size_t>(world)];
        const Own& its = told[static_cast<std::size_t>(u)];
        Domain* d = made->root;
        const auto enter = [&](dart_locality_scope_t scope, int number, int level, int cores) {
            d = &child(*d, children, scope, number, level);
            d->num_cores = std::clamp(cores, 1, its.cores);
            d->num_nodes = 1;
            d->node_id = place.node;
            d->shared_mem_bytes = its.hardware.system_memory_bytes;
            set_host(d->host, place.host);
        };
        enter(DART_LOCALITY_SCOPE_NODE, place.node, 0, its.cores);
        enter(DART_LOCALITY_SCOPE_MODULE, 0, 0, its.cores);
        for (int i = 0; i < its.depth; ++i) {
            const Enclosing& part = its.parts[static_cast<std::size_t>(i)];
            enter(scope_of(part.kind), part.number, part.level, part.cores);
        }
        enter(DART_LOCALITY_SCOPE_UNIT, world, 0, 1);
        enter(DART_LOCALITY_SCOPE_CORE, 0, 0, 1);
        set_units(*d, {world});
        of_unit.push_back(d);
    }
    renew(*made->root);
    for (int u = 0; u < team.size; ++u) {
        const auto i = static_cast<std::size_t>(u);
        const global::Place& place = global::runtime.places[static_cast<std::size_t>(team.world[i])];
        dart_unit_locality_t l{};
        l.unit = DART_TEAM_UNIT_ID(u);
        l.team = slot_of(team.id);
        l.hwinfo = told[i].hardware;
        l.hwinfo.numa_id = place.numa;
        l.hwinfo.core_id = place.core;
        l.hwinfo.cpu_id = place.cpu;
        set_host(l.hwinfo.host, place.host);
        std::copy_n(of_unit[i]->domain_tag, sizeof l.domain_tag, l.domain_tag);
        for (const Domain* d = of_unit[i]; d; d = d->parent)
            l.hwinfo.scopes[l.hwinfo.num_scopes++] = {d->scope, d->relative_index};
        made->units.push_back(l);
    }
    return made;
}

Locality* known(const char* function, dart_team_t id, dart_ret_t& error) {
    const global::Team* const team = team_of(function, id, error);
    if (!team) return nullptr;
    const std::scoped_lock lock(known_mutex);
    const auto found = localities().find(team->id);
    if (found != localities().end()) return found->second.get();
    error = invalid(function, "dart_team_locality_init has not been called for the team");
    return nullptr;
}

}  // namespace

namespace fanlight::dart {

bool is_of_team(const Domain* domain) {
    const std::scoped_lock lock(known_mutex);
    return std::ranges::any_of(localities(), [&](const auto& entry) { return entry.second->root == domain; });
}

void forget_localities() {
    const std::scoped_lock lock(known_mutex);
    localities().clear();
}

}  // namespace fanlight::dart

dart_ret_t dart_team_locality_init(dart_team_t id) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_locality_init", id, error);
    if (!team) return error;
    {
        // The program may have pointers to it.
        const std::scoped_lock lock(known_mutex);
        if (localities().contains(team->id)) return DART_OK;
    }
    auto made = make(*team);
    const std::scoped_lock lock(known_mutex);
    localities()[team->id] = std::move(made);
    return DART_OK;
}

dart_ret_t dart_team_locality_finalize(dart_team_t id) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_locality_finalize", id, error);
    if (!team) return error;
    const std::scoped_lock lock(known_mutex);
    localities().erase(team->id);
    return DART_OK;
}

dart_ret_t dart_domain_team_locality(dart_team_t team, const char* tag, dart_domain_locality_t** domain) {
    dart_ret_t error = DART_OK;
    const Locality* const locality = known("dart_domain_team_locality", team, error);
    return locality ? dart_domain_find(locality->root, tag, domain) : error;
}

dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit, dart_unit_locality_t** result) {
    dart_ret_t error = DART_OK;
    Locality* const locality = known("dart_unit_locality", team, error);
    if (!locality) return error;
    if (!result || unit.id < 0 || static_cast<std::size_t>(unit.id) >= locality->units.size())
        return invalid("dart_unit_locality", "no such unit in the team, or a null pointer for the result");
    *result = &locality->units[static_cast<std::size_t>(unit.id)];
    return DART_OK;
}
