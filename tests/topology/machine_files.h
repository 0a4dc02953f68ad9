#pragma once

#include "folder.h"

namespace fanlight {

// A folder that stands for /sys/devices/system.
class FolderOfAMachine : public OnFolder {
protected:
    void write(const std::filesystem::path& path, const std::string& text) { OnFolder::write(path, text + '\n'); }
    void cpu(int cpu, int package, const std::string& core, const std::string& all_of_package = "") {
        const std::filesystem::path topology = std::filesystem::path("cpu") / ("cpu" + std::to_string(cpu)) / "topology";
        write(topology / "physical_package_id", std::to_string(package));
        write(topology / "core_cpus_list", core);
        if (!all_of_package.empty()) write(topology / "package_cpus_list", all_of_package);
    }
    void cache(int cpu, int index, int level, const std::string& type, const std::string& size, const std::string& shared) {
        const std::filesystem::path files = std::filesystem::path("cpu") / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
        write(files / "level", std::to_string(level));
        write(files / "type", type);
        write(files / "size", size);
        write(files / "coherency_line_size", "64");
        write(files / "shared_cpu_list", shared);
    }
    // Two packages with two NUMA domains each, these with a cache of level 3 for each two cores; 16
    // cores of one thread.
    void two_packages() {
        write("cpu/online", "0-15");
        for (int c = 0; c < 16; ++c) {
            const std::string own = std::to_string(c), pair = std::to_string(c / 2 * 2) + "-" + std::to_string(c / 2 * 2 + 1);
            cpu(c, c / 8, own, c < 8 ? "0-7" : "8-15");
            write("cpu/cpu" + own + "/node" + std::to_string(c / 4) + "/cpulist", "");  // a link, of which only the name is read
            cache(c, 0, 1, "Data", "48K", own);
            cache(c, 1, 1, "Instruction", "32K", own);
            cache(c, 2, 2, "Unified", "1024K", own);
            cache(c, 3, 3, "Unified", "16M", pair);
        }
        for (int n = 0; n < 4; ++n)
            write("node/node" + std::to_string(n) + "/cpulist", std::to_string(4 * n) + "-" + std::to_string(4 * n + 3));
        write("node/node3/meminfo", "Node 3 MemTotal:       131072 kB\nNode 3 MemFree:        5 kB");
        write("node/node4/cpulist", "");  // memory alone
    }
};

}  // namespace fanlight
