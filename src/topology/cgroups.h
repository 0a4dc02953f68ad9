// The control groups of this process, whose limits may be lower than the machine's.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace fanlight {

// Where to look; tests give trees of their own.
struct CgroupPaths {
    std::filesystem::path own_cgroup = "/proc/self/cgroup";
    std::filesystem::path cgroups = "/sys/fs/cgroup";
};

// Visits the folder of each group that limits this process by the controller ("cpu", "memory"), from its
// own up to the root; of version 2 where `unified`.
void visit_cgroups(const CgroupPaths&, std::string_view controller,
                   const std::function<void(const std::filesystem::path& folder, bool unified)>& visit);

}  // namespace fanlight
