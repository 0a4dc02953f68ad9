#include "topology/cores.h"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/parse.h"

namespace fanlight {

namespace fs = std::filesystem;

namespace {

// A mask of the kernel's size, which may exceed the 1024 cores of cpu_set_t.
constexpr std::size_t mask_words = 65536 / (8 * sizeof(unsigned long));
using Mask = std::vector<unsigned long>;

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

// "max 100000" or "150000 100000": microseconds of time in each period.
std::optional<double> quota_v2(const fs::path& directory) {
    const std::string line = first_line(directory / "cpu.max");
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    const auto quota = parse_integer(std::string_view(line).substr(0, blank));
    const auto period = parse_integer(std::string_view(line).substr(blank + 1));
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

// A quota of -1 is none.
std::optional<double> quota_v1(const fs::path& directory) {
    const auto quota = parse_integer(first_line(directory / "cpu.cfs_quota_us"));
    const auto period = parse_integer(first_line(directory / "cpu.cfs_period_us"));
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

void tighten(CoresReport& report, const fs::path& file, std::optional<double> quota) {
    if (!quota || (report.quota > 0 && *quota >= report.quota)) return;
    report.quota = *quota;
    report.quota_file = file.string();
}

}  // namespace

int CoresReport::usable() const {
    if (forced > 0) return forced;
    int cores = affinity;
    if (quota > 0) {
        const int whole = static_cast<int>(std::min(std::ceil(quota), 1e6));
        cores = cores > 0 ? std::min(cores, whole) : whole;
    }
    return std::max(cores, 1);
}

int affinity_cores(std::span<const pid_t> pids) {
    static constexpr pid_t self[] = {0};
    if (pids.empty()) pids = self;
    Mask together(mask_words), one(mask_words);
    for (const pid_t pid : pids) {
        if (pid < 0) continue;
        std::fill(one.begin(), one.end(), 0);
        auto* set = reinterpret_cast<cpu_set_t*>(one.data());
        if (::sched_getaffinity(pid, mask_words * sizeof(unsigned long), set) != 0) continue;
        for (std::size_t i = 0; i < mask_words; ++i) together[i] |= one[i];
    }
    return CPU_COUNT_S(mask_words * sizeof(unsigned long),
                       reinterpret_cast<cpu_set_t*>(together.data()));
}

int cores_of_cpuset(const CgroupPaths& paths, const fs::path& system) {
    std::string cpus;
    visit_cgroups(paths, "cpuset", [&](const fs::path& folder, bool unified) {
        if (cpus.empty()) cpus = first_line(folder / (unified ? "cpuset.cpus.effective" : "cpuset.effective_cpus"));
    });
    if (cpus.empty()) cpus = first_line(system / "cpu/online");
    return static_cast<int>(parse_cpu_list(cpus).size());
}

std::vector<int> own_cpus() {
    Mask mask(mask_words);
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    const std::size_t bytes = mask_words * sizeof(unsigned long);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, bytes, set) != 0) return cpus;
    for (std::size_t cpu = 0; cpu < 8 * bytes; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<int>(cpu));
    return cpus;
}

void read_quota(CoresReport& report, const CgroupPaths& paths) {
    visit_cgroups(paths, "cpu", [&](const fs::path& folder, bool unified) {
        if (unified) tighten(report, folder / "cpu.max", quota_v2(folder));
        else tighten(report, folder / "cpu.cfs_quota_us", quota_v1(folder));
    });
}

CoresReport cores_report(std::span<const pid_t> pids, const CgroupPaths& paths) {
    CoresReport report;
    report.affinity = affinity_cores(pids);
    read_quota(report, paths);
    report.forced = static_cast<int>(std::min<std::int64_t>(config().cores, 1'000'000));
    return report;
}

int usable_cores(std::span<const pid_t> pids) { return cores_report(pids).usable(); }

std::uint64_t pid_namespace() {
    struct stat facts{};
    return ::stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

std::uint64_t machine_number() {
    static const std::uint64_t number = [] {
        std::uint64_t hash = 0;
        for (const char c : first_line("/proc/sys/kernel/random/boot_id")) hash = hash * 0x100000001b3u + static_cast<unsigned char>(c);
        return hash;
    }();
    return number;
}

}  // namespace fanlight
