#include "global/place.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fanlight::global {

namespace {

int number_in(const std::filesystem::path& file) {
    std::ifstream in(file);
    int number = -1;
    in >> number;
    return in ? number : -1;
}

// The folder of a core has a link to the node that its memory is on: node0.
int numa_of(const std::filesystem::path& cpu) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(cpu, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9')
            return std::stoi(name.substr(4));
    }
    return -1;
}

}  // namespace

Place own_place() {
    Place place;
    ::gethostname(place.host, sizeof place.host - 1);
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) == 0) return place;
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    const std::filesystem::path cpu = "/sys/devices/system/cpu/cpu" + std::to_string(first);
    const int package = number_in(cpu / "topology/physical_package_id"), numa = numa_of(cpu);
    // A unit that may run on cores of several processors is on none of them.
    bool one_package = true, one_numa = true;
    for (int c = first + 1; c < CPU_SETSIZE; ++c) {
        if (!CPU_ISSET(c, &mask)) continue;
        const std::filesystem::path other = "/sys/devices/system/cpu/cpu" + std::to_string(c);
        one_package &= number_in(other / "topology/physical_package_id") == package;
        one_numa &= numa_of(other) == numa;
    }
    if (one_package) place.package = package;
    if (one_numa) place.numa = numa;
    if (CPU_COUNT(&mask) == 1) {
        place.cpu = first;
        place.core = number_in(cpu / "topology/core_id");
    }
    return place;
}

}  // namespace fanlight::global
