// How many cores the ranks of this node may really use: the affinity mask and the cgroup's quota may both allow fewer than
// the machine has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/cgroups.h"
#include "topology/machine.h"

namespace fanlight {

struct CoresReport {
    int affinity = 0;        // cores in the affinity mask; 0: it cannot be read
    double quota = 0;        // cores' worth of time by the cgroup; 0: no limit
    std::string quota_file;  // the file that says so
    int forced = 0;          // FANLIGHT_CORES; 0: not set

    int usable() const;      // what follows from them; at least 1
};

// The cores in the union of the affinity masks of these processes (empty: of this one).  A
// launcher binds each rank to cores of its own (Open MPI does so by default): what a node's
// ranks may use together is the union, where a rank's own mask would look as if all of them
// shared one core.
int affinity_cores(std::span<const pid_t> pids = {});

// The CPUs of this process's cpuset (version 2 or 1), else those that are online.
int cores_of_cpuset(const CgroupPaths& = {}, const std::filesystem::path& system = system_files);

// The CPUs of this process's own mask; empty: it cannot be read.
std::vector<int> own_cpus();

// The tightest limit from this process's cgroup up to the root, version 2 or 1.
void read_quota(CoresReport&, const CgroupPaths& = {});

CoresReport cores_report(std::span<const pid_t> pids = {}, const CgroupPaths& = {});
int usable_cores(std::span<const pid_t> pids = {});

// Process ids mean the same to two processes where this number is equal; 0: unknown.
std::uint64_t pid_namespace();

// The same for processes of one machine since it was last started; 0: unknown.
std::uint64_t machine_number();

}  // namespace fanlight
