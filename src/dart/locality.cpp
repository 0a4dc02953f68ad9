// Where a team's units run.  The tree: all, nodes, modules (one for each node: units on devices of
// other kinds there are not), NUMA domains, units, cores.  What the system's files tell is enough for
// it; no library is needed.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>

#include "dart/domain.h"
#include "dart/names.h"
#include "topology/cores.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    in >> text;
    return text;
}

// "32K", or a number; -1: not there.
int number_in(const fs::path& file) {
    const std::string text = text_in(file);
    if (text.empty()) return -1;
    const long n = std::strtol(text.c_str(), nullptr, 10);
    return static_cast<int>(std::min<long>(n * (text.back() == 'K' ? 1024 : text.back() == 'M' ? 1048576 : 1), INT_MAX));
}

// What this process knows of its own node; a unit of another asks there (team_locality).
dart_hwinfo_t own_hardware() {
    dart_hwinfo_t hw{};
    hw.num_cores = usable_cores();
    hw.num_numa = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
        const std::string name = entry.path().filename().string();
        hw.num_numa += name.starts_with("node") && name.size() > 4 && std::isdigit(static_cast<unsigned char>(name[4]));
    }
    hw.num_numa = std::max(hw.num_numa, 1);
    const fs::path cpu = "/sys/devices/system/cpu/cpu0";
    const int least = number_in(cpu / "cpufreq/cpuinfo_min_freq"), most = number_in(cpu / "cpufreq/cpuinfo_max_freq");
    hw.min_cpu_mhz = least > 0 ? least / 1000 : -1;
    hw.max_cpu_mhz = most > 0 ? most / 1000 : -1;
    std::fill_n(hw.cache_sizes, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    std::fill_n(hw.cache_line_sizes, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    std::fill_n(hw.cache_ids, DART_LOCALITY_MAX_CACHE_LEVELS, -1);
    for (const auto& entry : fs::directory_iterator(cpu / "cache", error)) {
        const int level = number_in(entry.path() / "level");
        if (level < 1 || level > DART_LOCALITY_MAX_CACHE_LEVELS || text_in(entry.path() / "type") == "Instruction")
            continue;
        hw.cache_sizes[level - 1] = number_in(entry.path() / "size");
        hw.cache_line_sizes[level - 1] = number_in(entry.path() / "coherency_line_size");
        hw.cache_ids[level - 1] = number_in(entry.path() / "id");
    }
    hw.min_threads = hw.max_threads = 1;
    hw.max_shmem_mbps = -1;
    // The fields are int: what is more than fits is the most that fits.
    const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    hw.system_memory_bytes = static_cast<int>(std::min<double>(memory, INT_MAX));
    hw.numa_memory_bytes = static_cast<int>(std::min<double>(memory / hw.num_numa, INT_MAX));
    return hw;
}

struct Locality {
    Domain* root = nullptr;
    std::vector<dart_unit_locality_t> units;
    ~Locality() {
        if (root) destroy(root);
    }
};

std::mutex mutex;
std::map<std::int32_t, std::unique_ptr<Locality>>& localities() {
    static auto& all = *new std::map<std::int32_t, std::unique_ptr<Locality>>;
    return all;
}

// The child that stands for `index`; made where there is none yet.
Domain& child(Domain& parent, std::map<int, Domain*>& children, int index, dart_locality_scope_t scope) {
    Domain*& d = children[index];
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
    std::vector<dart_hwinfo_t> hardware(static_cast<std::size_t>(team.size));
    const dart_hwinfo_t own = own_hardware();
    MPI_Allgather(&own, sizeof own, MPI_BYTE, hardware.data(), sizeof own, MPI_BYTE, team.comm);
    made->root = new_domain(DART_LOCALITY_SCOPE_GLOBAL);
    made->root->team = slot_of(team.id);
    std::map<int, Domain*> nodes;
    std::map<int, std::map<int, Domain*>> modules, numas;
    std::vector<Domain*> of_unit;
    for (int u = 0; u < team.size; ++u) {
        const int world = team.world[static_cast<std::size_t>(u)];
        const global::Place& place = global::runtime.places[static_cast<std::size_t>(world)];
        const dart_hwinfo_t& hw = hardware[static_cast<std::size_t>(u)];
        Domain& node = child(*made->root, nodes, place.node, DART_LOCALITY_SCOPE_NODE);
        Domain& module = child(node, modules[place.node], 0, DART_LOCALITY_SCOPE_MODULE);
        Domain& numa = child(module, numas[place.node], std::max(place.numa, 0), DART_LOCALITY_SCOPE_NUMA);
        std::map<int, Domain*> own;
        Domain& unit = child(numa, own, 0, DART_LOCALITY_SCOPE_UNIT);
        Domain* const core = new_domain(DART_LOCALITY_SCOPE_CORE);
        insert(unit, core, 0);
        core->team = slot_of(team.id);
        set_units(*core, {world});
        core->num_cores = unit.num_cores = 1;
        core->num_nodes = 1;
        node.num_cores = module.num_cores = hw.num_cores;
        numa.num_cores = std::max(hw.num_cores / hw.num_numa, 1);
        for (Domain* d : {&node, &module, &numa, &unit, core}) {
            d->node_id = place.node;
            d->shared_mem_bytes = hw.system_memory_bytes;
            set_host(d->host, place.host);
        }
        of_unit.push_back(core);
    }
    renew(*made->root);
    for (int u = 0; u < team.size; ++u) {
        const auto i = static_cast<std::size_t>(u);
        const global::Place& place = global::runtime.places[static_cast<std::size_t>(team.world[i])];
        dart_unit_locality_t l{};
        l.unit = DART_TEAM_UNIT_ID(u);
        l.team = slot_of(team.id);
        l.hwinfo = hardware[i];
        l.hwinfo.num_cores = 1;
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
    const std::scoped_lock lock(mutex);
    const auto found = localities().find(team->id);
    if (found != localities().end()) return found->second.get();
    error = invalid(function, "dart_team_locality_init has not been called for the team");
    return nullptr;
}

}  // namespace

namespace fanlight::dart {

bool is_of_team(const Domain* domain) {
    const std::scoped_lock lock(mutex);
    return std::ranges::any_of(localities(), [&](const auto& entry) { return entry.second->root == domain; });
}

void forget_localities() {
    const std::scoped_lock lock(mutex);
    localities().clear();
}

}  // namespace fanlight::dart

dart_ret_t dart_team_locality_init(dart_team_t id) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_locality_init", id, error);
    if (!team) return error;
    {
        // The program may have pointers to it.
        const std::scoped_lock lock(mutex);
        if (localities().contains(team->id)) return DART_OK;
    }
    auto made = make(*team);
    const std::scoped_lock lock(mutex);
    localities()[team->id] = std::move(made);
    return DART_OK;
}

dart_ret_t dart_team_locality_finalize(dart_team_t id) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_locality_finalize", id, error);
    if (!team) return error;
    const std::scoped_lock lock(mutex);
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
        return invalid("dart_unit_locality", "no such unit in the team, or no place for the result");
    *result = &locality->units[static_cast<std::size_t>(unit.id)];
    return DART_OK;
}
