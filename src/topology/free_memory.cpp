#include "topology/free_memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "config/parse.h"

namespace fanlight {

namespace fs = std::filesystem;

namespace {

std::optional<std::size_t> limit_in(const fs::path& file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    const auto number = parse_integer(word);
    if (!number || *number < 0) return std::nullopt;
    return static_cast<std::size_t>(*number);
}

// Of lines such as "MemTotal:  1024 kB" and "inactive_file 4096".
std::map<std::string, std::size_t> numbers_in(const fs::path& file) {
    std::ifstream in(file);
    std::map<std::string, std::size_t> numbers;
    std::string line;
    while (std::getline(in, line)) {
        const std::size_t blank = line.find(' ');
        if (blank == std::string::npos) continue;
        const std::size_t begin = line.find_first_not_of(' ', blank), end = std::min(line.find(' ', begin), line.size());
        if (begin == std::string::npos) continue;
        if (const auto number = parse_integer(std::string_view(line).substr(begin, end - begin)); number && *number >= 0)
            numbers[line.substr(0, blank)] = static_cast<std::size_t>(*number);
    }
    return numbers;
}

std::size_t left(std::size_t total, std::size_t free) { return free > total / 16 ? free - total / 16 : 0; }

}  // namespace

std::size_t free_memory(const MemoryPaths& paths) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    const auto machine = numbers_in(paths.machine);
    const auto total = machine.find("MemTotal:"), available = machine.find("MemAvailable:");
    if (total != machine.end() && available != machine.end()) least = left(total->second, available->second) * 1024;
    visit_cgroups(paths.groups, "memory", [&](const fs::path& folder, bool unified) {
        const auto limit = limit_in(folder / (unified ? "memory.max" : "memory.limit_in_bytes"));
        const auto used = limit_in(folder / (unified ? "memory.current" : "memory.usage_in_bytes"));
        if (!limit || !used) return;
        // What is kept of files goes before anybody is ended.
        auto facts = numbers_in(folder / "memory.stat");
        const std::string whole = unified ? "" : "total_";
        const std::size_t held = *used - std::min(*used, facts[whole + "inactive_file"] + facts[whole + "active_file"]);
        least = std::min(least, left(*limit, *limit - std::min(*limit, held)));
    });
    return least;
}

}  // namespace fanlight
