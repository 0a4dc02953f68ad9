#include "topology/cgroups.h"

#include <fstream>
#include <string>

namespace fanlight {

namespace fs = std::filesystem;

namespace {

// Whether a list such as "cpu,cpuacct" names it.
bool names(std::string_view controllers, std::string_view controller) {
    for (;;) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == controller) return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
}

}  // namespace

void visit_cgroups(const CgroupPaths& paths, std::string_view controller,
                   const std::function<void(const fs::path& folder, bool unified)>& visit) {
    const auto up = [&](const fs::path& mount, fs::path path, bool unified) {
        // Inside a container the path may be one that only the host sees: what does not exist is
        // passed over on the way up, and the mount itself is the container's own group.
        path = path.lexically_normal().relative_path();
        if (path == "." || path.string().starts_with("..")) path.clear();
        for (;; path = path.parent_path()) {
            visit(path.empty() ? mount : mount / path, unified);
            if (path.empty()) return;
        }
    };
    // Lines such as "0::/user.slice" (version 2) and "4:cpu,cpuacct:/docker/1234" (version 1);
    // a machine may have both.
    std::ifstream in(paths.own_cgroup);
    for (std::string line; std::getline(in, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const fs::path path = line.substr(second + 1);
        if (controllers.empty()) {
            up(paths.cgroups, path, true);
            up(paths.cgroups / "unified", path, true);
        } else if (names(controllers, controller)) {
            up(paths.cgroups / controller, path, false);
            if (controllers != controller) up(paths.cgroups / controllers, path, false);
        }
    }
}

}  // namespace fanlight
