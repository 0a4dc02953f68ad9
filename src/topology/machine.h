// Which CPUs share a core, a cache, a NUMA domain or a package, by Linux's files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

namespace fanlight {

using Cpus = std::vector<int>;  // the system's numbers, ascending

// "0-3,8"; what cannot be read is left out.
Cpus parse_cpu_list(std::string_view);

// Packages and NUMA domains have the system's numbers, which may have gaps; cores, and the caches
// of a level, are counted by their first CPUs: the system's numbers of cores repeat in each package.
struct CpuGroup {
    int number = -1;
    Cpus cpus;
};

// Of this node.  What is not online is not there.
struct Processors {
    Cpus cpus;
    std::vector<CpuGroup> packages, numas, cores;
};

// Of data, or of both kinds.  0: the files do not say.
struct Cache : CpuGroup {
    int level = 0;
    std::size_t bytes = 0, line = 0;
};

// The folder is one that tests may make up.
inline constexpr const char* system_files = "/sys/devices/system";
Processors read_machine(const std::filesystem::path& system = system_files);
// Those of one CPU, not numbered; those of all.
std::vector<Cache> read_caches(int cpu, const std::filesystem::path& system = system_files);
std::vector<Cache> read_caches(const Processors&, const std::filesystem::path& system = system_files);

// All that are online of the NUMA domain and of the package of one CPU, without a look at the others;
// none: the files do not say.
Cpus numa_of(int cpu, const std::filesystem::path& system = system_files);
Cpus package_of(int cpu, const std::filesystem::path& system = system_files);

// Of a NUMA domain; 0: the files do not say.
std::size_t memory_bytes(int numa, const std::filesystem::path& system = system_files);

// In MHz; -1: the files do not say.
struct Clock {
    int least = -1, most = -1;
};
Clock read_clock(int cpu, const std::filesystem::path& system = system_files);

// The one that has all of these CPUs; null: none has.
const CpuGroup* group_of(const std::vector<CpuGroup>&, const Cpus&);

// A part of the machine with all CPUs that a process may run on.
struct Enclosing {
    enum class Kind { numa, package, cache } kind;
    int level;   // of a cache; else 0
    int number;  // -1: the process may run in several, or the files do not say
    int cores;
};

// From the outermost one.  All processes of a node see packages and NUMA domains in the same order,
// by what the machine has most of in one: a package may have several NUMA domains, a NUMA domain
// several packages.  Both are always there; a cache only where the process cannot leave it.
std::vector<Enclosing> enclosing(const Processors&, const std::vector<Cache>&, const Cpus& own);

}  // namespace fanlight
