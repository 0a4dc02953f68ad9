#include "topology/fingerprint.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "config/mpi_libraries.h"

namespace fanlight {

namespace fs = std::filesystem;

namespace {

// The first number with a dot: "5.0.2".
std::string version_in(std::string_view text) {
    const auto digit = [&](std::size_t i) { return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); };
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i;
        bool dot = false;
        for (; digit(end) || (end > i && text[end] == '.' && digit(end + 1)); ++end) dot |= text[end] == '.';
        if (dot) return std::string(text.substr(i, end - i));
        i = std::max(end, i + 1);
    }
    return "";
}

std::string library_in(std::string_view text) {
    const std::string name(mpi_library(text));
    const std::string version = version_in(text);
    return version.empty() ? name : name + " " + version;
}

// x86 names the model; Arm gives numbers.
std::string processor(const fs::path& processes) {
    std::map<std::string, std::string, std::less<>> first;
    std::ifstream in(processes / "cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(':'), end = line.find_last_not_of(" \t", colon == line.npos ? colon : colon - 1);
        if (colon == line.npos || end == line.npos || colon == 0) continue;
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        first.try_emplace(line.substr(0, end + 1), value == line.npos ? "" : line.substr(value));
        if (first.contains("model name") || first.contains("CPU part")) break;
    }
    if (const auto model = first.find("model name"); model != first.end()) return model->second;
    std::string numbers;
    for (const char* key : {"CPU implementer", "CPU part", "cpu"})
        if (const auto it = first.find(key); it != first.end()) numbers += (numbers.empty() ? "" : " ") + it->second;
    struct utsname system{};
    uname(&system);
    return numbers.empty() ? system.machine : std::string(system.machine) + " " + numbers;
}

std::string kernel() {
    struct utsname system{};
    uname(&system);
    const std::string release = system.release;
    const std::size_t minor = release.find('.');
    const std::size_t end = minor == release.npos ? minor : release.find_first_not_of("0123456789", minor + 1);
    return std::string(system.sysname) + " " + release.substr(0, end);
}

std::string counted(std::size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string size_of(std::size_t bytes) {
    return bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + "M" : std::to_string(bytes >> 10) + "K";
}

std::string binding(const Processors& machine, const std::vector<Cache>& caches, const Cpus& own) {
    if (own.empty() || std::ranges::includes(own, machine.cpus)) return "unbound";
    if (group_of(machine.cores, own)) return "core";
    std::vector<CpuGroup> l3;
    for (const Cache& cache : caches)
        if (cache.level == 3) l3.push_back(cache);
    // The smaller one where they are not alike.
    const CpuGroup* const in_l3 = group_of(l3, own);
    const CpuGroup* const in_numa = group_of(machine.numas, own);
    if (in_l3 && in_l3->cpus.size() < machine.cpus.size() && (!in_numa || in_l3->cpus.size() <= in_numa->cpus.size())) return "L3";
    if (in_numa && in_numa->cpus.size() < machine.cpus.size()) return "NUMA";
    if (const CpuGroup* const in = group_of(machine.packages, own); in && in->cpus.size() < machine.cpus.size()) return "package";
    return "part";
}

std::uint32_t hash(std::string_view text) {  // FNV-1a: the same everywhere
    std::uint32_t h = 2166136261u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h;
}

fs::path folder_in(const char* variable, const char* otherwise, const char* in_home) {
    const char* const given = std::getenv(variable);
    if (given && *given == '/') return fs::path(given) / otherwise;
    const char* const home = std::getenv("HOME");
    return home && *home ? fs::path(home) / in_home / otherwise : fs::path();
}

}  // namespace

std::string Fingerprint::machine() const {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", hash(processor + "|" + domains + "|" + kernel));
    return text;
}

std::string Fingerprint::name() const {
    std::string text = mpi + "-" + binding + "-" + machine();
    std::ranges::replace(text, ' ', '-');
    return text;
}

Fingerprint fingerprint(std::string_view mpi, const Cpus& own, const fs::path& system, const fs::path& processes) {
    const Processors machine = read_machine(system);
    const std::vector<Cache> caches = read_caches(machine, system);
    Fingerprint f;
    f.processor = processor(processes);
    std::map<std::size_t, std::size_t> l3;  // how many, by size
    for (const Cache& cache : caches)
        if (cache.level == 3) ++l3[cache.bytes];
    f.domains = counted(machine.packages.size(), "package") + ", " + counted(machine.numas.size(), "NUMA domain");
    for (const auto& [bytes, number] : l3) f.domains += ", " + std::to_string(number) + " L3 of " + size_of(bytes);
    f.domains += ", " + counted(machine.cores.size(), "core") + ", " + counted(machine.cpus.size(), "CPU");
    f.kernel = kernel();
    f.mpi = library_in(mpi);
    f.binding = binding(machine, caches, own);
    return f;
}

std::vector<fs::path> tuned_folders() {
    std::vector<fs::path> folders;
    if (fs::path own = folder_in("XDG_CONFIG_HOME", "fanlight/tuned", ".config"); !own.empty()) folders.push_back(std::move(own));
    folders.emplace_back("/etc/fanlight/tuned");
    return folders;
}

fs::path tuned_file(const std::string& setting, std::string_view mpi, const Cpus& own) {
    if (setting == "off") return {};
    std::error_code ignored;
    std::vector<fs::path> folders = tuned_folders();
    if (setting != "auto" && !setting.empty()) {
        if (!fs::is_directory(setting, ignored)) return setting;  // where it is missing that is said when it is read
        folders = {setting};
    }
    std::string name;
    for (const fs::path& folder : folders) {
        if (!fs::is_directory(folder, ignored)) continue;
        if (name.empty()) name = fingerprint(mpi, own).name() + ".rules";
        if (fs::path file = folder / name; fs::is_regular_file(file, ignored)) return file;
    }
    return {};
}

}  // namespace fanlight
