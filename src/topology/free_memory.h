// How much memory this process may still take before the kernel kills a process.
//
// The kernel does not refuse to reserve more (fallocate): it kills for it.
#pragma once

#include <cstddef>
#include <filesystem>

#include "topology/cgroups.h"

namespace fanlight {

struct MemoryPaths {
    CgroupPaths groups{};
    std::filesystem::path machine = "/proc/meminfo";
};

// By the machine and the tightest limit of a control group; a sixteenth of each is left to others, who
// may be taking some at the same time.  SIZE_MAX: nothing says.
std::size_t free_memory(const MemoryPaths& = {});

}  // namespace fanlight
