#include "topology/machine.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "config/parse.h"

namespace fanlight {

namespace fs = std::filesystem;

namespace {

std::string word_in(const fs::path& file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    return word;
}

int number_in(const fs::path& file) { return static_cast<int>(parse_integer(word_in(file)).value_or(-1)); }

// The numbers of the entries "cpu0", "node1" and so on, ascending.
std::vector<int> numbered(const fs::path& folder, std::string_view name) {
    std::vector<int> numbers;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string file = entry.path().filename().string();
        if (!file.starts_with(name)) continue;
        const auto number = parse_integer(std::string_view(file).substr(name.size()));
        if (number && *number >= 0) numbers.push_back(static_cast<int>(*number));
    }
    std::ranges::sort(numbers);
    return numbers;
}

fs::path folder_of(int cpu, const fs::path& system) { return system / "cpu" / ("cpu" + std::to_string(cpu)); }
fs::path folder_of_numa(int numa, const fs::path& system) { return system / "node" / ("node" + std::to_string(numa)); }

Cpus online_of(const Cpus& cpus, const Processors& machine) {
    Cpus online;
    std::ranges::set_intersection(cpus, machine.cpus, std::back_inserter(online));
    return online;
}

bool has(const Cpus& cpus, int cpu) { return std::ranges::binary_search(cpus, cpu); }

template <class Groups>
std::size_t largest(const Groups& groups) {
    std::size_t most = 0;
    for (const auto& g : groups) most = std::max(most, g.cpus.size());
    return most;
}

}  // namespace

Cpus parse_cpu_list(std::string_view list) {
    Cpus cpus;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string_view range = list.substr(0, comma);
        const std::size_t dash = range.find('-');
        const auto first = parse_integer(range.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_integer(range.substr(dash + 1));
        if (first && last && *first >= 0 && *last < 1 << 20)
            for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    std::ranges::sort(cpus);
    cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
    return cpus;
}

Processors read_machine(const fs::path& system) {
    Processors machine;
    machine.cpus = parse_cpu_list(word_in(system / "cpu/online"));
    if (machine.cpus.empty()) machine.cpus = numbered(system / "cpu", "cpu");
    std::map<int, Cpus> packages;
    std::map<int, bool> counted;
    for (const int cpu : machine.cpus) {
        const fs::path topology = folder_of(cpu, system) / "topology";
        const int package = number_in(topology / "physical_package_id");
        if (package >= 0) packages[package].push_back(cpu);
        if (counted[cpu]) continue;
        // The second name is that of older kernels.
        std::string siblings = word_in(topology / "core_cpus_list");
        if (siblings.empty()) siblings = word_in(topology / "thread_siblings_list");
        Cpus core = online_of(parse_cpu_list(siblings), machine);
        if (!has(core, cpu)) core = {cpu};
        for (const int sibling : core) counted[sibling] = true;
        machine.cores.push_back({static_cast<int>(machine.cores.size()), std::move(core)});
    }
    for (auto& [number, cpus] : packages) machine.packages.push_back({number, std::move(cpus)});
    for (const int node : numbered(system / "node", "node")) {
        // Memory without CPUs is no place where a process runs.
        if (Cpus cpus = online_of(parse_cpu_list(word_in(folder_of_numa(node, system) / "cpulist")), machine); !cpus.empty())
            machine.numas.push_back({node, std::move(cpus)});
    }
    return machine;
}

std::vector<Cache> read_caches(int cpu, const fs::path& system) {
    std::vector<Cache> caches;
    const fs::path folder = folder_of(cpu, system) / "cache";
    for (const int index : numbered(folder, "index")) {
        const fs::path files = folder / ("index" + std::to_string(index));
        Cache cache;
        cache.level = number_in(files / "level");
        if (cache.level < 1 || word_in(files / "type") == "Instruction") continue;
        cache.bytes = parse_bytes(word_in(files / "size")).value_or(0);
        cache.line = static_cast<std::size_t>(std::max(number_in(files / "coherency_line_size"), 0));
        cache.cpus = parse_cpu_list(word_in(files / "shared_cpu_list"));
        if (!has(cache.cpus, cpu)) cache.cpus = {cpu};
        caches.push_back(std::move(cache));
    }
    std::ranges::stable_sort(caches, {}, &Cache::level);
    return caches;
}

std::vector<Cache> read_caches(const Processors& machine, const fs::path& system) {
    std::vector<Cache> all;
    std::map<std::pair<int, int>, bool> known;  // by level and CPU
    std::map<int, int> count;
    for (const CpuGroup& core : machine.cores) {
        for (Cache& cache : read_caches(core.cpus.front(), system)) {
            if (known[{cache.level, core.cpus.front()}]) continue;
            cache.cpus = online_of(cache.cpus, machine);
            for (const int cpu : cache.cpus) known[{cache.level, cpu}] = true;
            cache.number = count[cache.level]++;
            all.push_back(std::move(cache));
        }
    }
    return all;
}

Cpus numa_of(int cpu, const fs::path& system) {
    for (const int node : numbered(folder_of(cpu, system), "node")) return parse_cpu_list(word_in(folder_of_numa(node, system) / "cpulist"));
    return {};
}

Cpus package_of(int cpu, const fs::path& system) {
    // The second name is that of older kernels.
    const fs::path topology = folder_of(cpu, system) / "topology";
    const std::string list = word_in(topology / "package_cpus_list");
    return parse_cpu_list(list.empty() ? word_in(topology / "core_siblings_list") : list);
}

std::size_t memory_bytes(int numa, const fs::path& system) {
    // Its first line: "Node 0 MemTotal: 131072 kB".
    std::ifstream in(folder_of_numa(numa, system) / "meminfo");
    std::string node, number, total;
    std::size_t kib = 0;
    in >> node >> number >> total >> kib;
    return total == "MemTotal:" ? kib * 1024 : 0;
}

Clock read_clock(int cpu, const fs::path& system) {
    const fs::path folder = folder_of(cpu, system) / "cpufreq";
    const int least = number_in(folder / "cpuinfo_min_freq"), most = number_in(folder / "cpuinfo_max_freq");  // kHz
    return {least > 0 ? least / 1000 : -1, most > 0 ? most / 1000 : -1};
}

const CpuGroup* group_of(const std::vector<CpuGroup>& groups, const Cpus& cpus) {
    const auto found = std::ranges::find_if(groups, [&](const CpuGroup& g) { return std::ranges::includes(g.cpus, cpus); });
    return found == groups.end() || cpus.empty() ? nullptr : &*found;
}

std::vector<Enclosing> enclosing(const Processors& machine, const std::vector<Cache>& caches, const Cpus& own) {
    const auto cores = [&](const CpuGroup* in) {
        return static_cast<int>(!in ? machine.cores.size() : std::ranges::count_if(machine.cores, [&](const CpuGroup& core) {
            return std::ranges::any_of(core.cpus, [&](int cpu) { return has(in->cpus, cpu); });
        }));
    };
    struct Sized {
        std::size_t cpus;
        Enclosing part;
    };
    std::vector<Sized> parts;
    const auto add = [&](const std::vector<CpuGroup>& groups, Enclosing::Kind kind) {
        const CpuGroup* const mine = group_of(groups, own);
        parts.push_back({groups.empty() ? machine.cpus.size() : largest(groups), {kind, 0, mine ? mine->number : -1, cores(mine)}});
    };
    add(machine.numas, Enclosing::Kind::numa);
    add(machine.packages, Enclosing::Kind::package);
    std::map<int, std::vector<CpuGroup>, std::greater<>> levels;
    for (const Cache& cache : caches) levels[cache.level].push_back(cache);
    for (const auto& [level, groups] : levels)
        if (const CpuGroup* const mine = group_of(groups, own))
            parts.push_back({largest(groups), {Enclosing::Kind::cache, level, mine->number, cores(mine)}});
    // Of parts of one size the NUMA domain is outside, then the package, then the caches by level.
    std::ranges::stable_sort(parts, std::ranges::greater{}, &Sized::cpus);
    std::vector<Enclosing> result;
    for (const Sized& s : parts) result.push_back(s.part);
    return result;
}

}  // namespace fanlight
