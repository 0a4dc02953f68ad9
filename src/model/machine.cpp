#include "model/machine.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fanlight {
namespace {

[[noreturn]] void wrong(std::string_view machine, int line, const std::string& what) {
    throw std::invalid_argument("machine " + std::string(machine) + ", line " + std::to_string(line) + ": " + what);
}

// 20ns, 1.5us; 36G; 512K: without a unit as it stands.  Negative: not a number.
double number_of(std::string_view text, bool bytes) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return -1;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit.empty()) return value;
    if (unit == "ns") return value * 1e-9;
    if (unit == "us") return value * 1e-6;
    if (unit == "ms") return value * 1e-3;
    if (unit == "G") return value * (bytes ? 1024.0 * 1024 * 1024 : 1e9);
    if (unit == "M") return value * (bytes ? 1024.0 * 1024 : 1e6);
    if (unit == "K") return value * (bytes ? 1024.0 : 1e3);
    return -1;
}

}  // namespace

Machine Machine::from(std::string_view name, std::string_view text) {
    Machine m;
    m.name = name;
    std::istringstream lines{std::string(text)};
    std::string line;
    for (int at = 1; std::getline(lines, line); ++at) {
        const std::size_t comment = line.find('#');
        if (comment == 0 && m.levels.empty()) m.about += (m.about.empty() ? "" : "\n") + line.substr(std::min(line.size(), line.find_first_not_of("# ")));
        std::istringstream words(line.substr(0, comment));
        std::string word;
        if (!(words >> word)) continue;
        Level* level = nullptr;
        if (word != "ranks") {
            level = &m.levels.emplace_back();
            level->name = word;
            std::string count;
            words >> count;
            const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), level->count);
            const bool number = error == std::errc() && end == count.data() + count.size() && level->count > 0;
            if (count != "*" && !number) wrong(name, at, "'" + count + "' is no number of domains");
        }
        while (words >> word) {
            const std::size_t equals = word.find('=');
            const std::string key = word.substr(0, equals);
            double* const to = !level ? (key == "step" ? &m.step : key == "reader" ? &m.reader : key == "gather" ? &m.gather
                                         : key == "begin" ? &m.begin : key == "call" ? &m.call : key == "copied" ? &m.copied : nullptr)
                               : key == "hop" ? &level->hop
                               : key == "away" ? &level->away
                               : key == "bandwidth" ? &level->bandwidth
                               : key == "link" ? &level->link
                               : key == "memory" ? &level->memory
                               : key == "size" ? &level->size
                               : key == "latency" ? &level->latency
                               : key == "overhead" ? &level->overhead
                               : key == "eager" ? &level->eager
                                                : nullptr;
            if (!to) wrong(name, at, "unknown word '" + word + "'");
            const double value = equals == std::string::npos ? -1 : number_of(std::string_view(word).substr(equals + 1), key == "size" || key == "eager");
            if (value < 0) wrong(name, at, "'" + word + "' has no number");
            *to = value;
        }
        if (m.gather < 1) wrong(name, at, "gather is at least 1");
    }
    if (m.levels.size() < 2) throw std::invalid_argument("machine " + m.name + ": it takes a line for nodes and one for cores at least");
    for (std::size_t k = 1; k + 1 < m.levels.size(); ++k)
        if (m.levels[k].count == 0) throw std::invalid_argument("machine " + m.name + ": of nodes and cores alone there may be any number (*)");
    if (m.levels.back().bandwidth <= 0) throw std::invalid_argument("machine " + m.name + ": the last line, of the cores, needs their bandwidth");
    return m;
}

long Machine::cores_of_node() const {
    long cores = 1;
    for (std::size_t k = 1; k < levels.size(); ++k) cores *= levels[k].count;
    return cores;
}

double Machine::memory_of_node() const {
    double domains = 1;
    for (std::size_t k = 1; k < levels.size(); ++k) {
        domains *= levels[k].count;
        if (levels[k].memory > 0) return domains * levels[k].memory;
    }
    return domains * levels.back().bandwidth;
}

Machine machine_named(std::string_view name) {
    std::string names;
    for (const auto& [known, text] : machines()) {
        if (known == name) return Machine::from(name, text);
        names.append(names.empty() ? "" : ", ").append(known);
    }
    throw std::invalid_argument("no machine '" + std::string(name) + "'; there are " + names);
}

Placement::Placement(const Machine& machine, int ranks, int nodes) {
    const long cores = machine.cores_of_node();
    if (nodes == 0) nodes = cores == 0 ? 1 : static_cast<int>((ranks + cores - 1) / cores);
    if (nodes < 0 || nodes > ranks) throw std::invalid_argument("there are more nodes than ranks, or fewer than none");
    for (int r = 0; r < ranks; ++r) node_.push_back(static_cast<int>(static_cast<long>(r) * nodes / ranks));
    place(machine);
}

Placement::Placement(const Machine& machine, const Domains& nodes) {
    for (int r = 0; r < nodes.ranks(); ++r) node_.push_back(nodes.of(r));
    place(machine);
}

void Placement::place(const Machine& machine) {
    const long cores = machine.cores_of_node();
    const int nodes = node_.empty() ? 0 : *std::ranges::max_element(node_) + 1;
    const int most = machine.levels[0].count;
    if (most > 0 && nodes > most)
        throw std::invalid_argument("machine " + machine.name + " has " + std::to_string(most) + " nodes, and not " + std::to_string(nodes));
    std::vector<long> used(static_cast<std::size_t>(nodes), 0);
    domain_.resize(machine.levels.size());
    for (std::size_t r = 0; r < node_.size(); ++r) {
        const long core = used[static_cast<std::size_t>(node_[r])]++;
        if (cores > 0 && core == cores)
            throw std::invalid_argument("a node of machine " + machine.name + " has " + std::to_string(cores) + " cores, and more ranks are on one");
        // From the inside to the outside: a domain's number in its node is the core's by the cores that it has.
        long inside = 1;
        for (std::size_t k = machine.levels.size(); k-- > 1;) {
            // Any number of cores: all are in one domain.
            const long of_node = cores > 0 ? cores : k == machine.cores() ? static_cast<long>(node_.size()) : 1;
            const long number = cores > 0 ? core / inside : k == machine.cores() ? core : 0;
            domain_[k].push_back(static_cast<int>(node_[r] * (cores > 0 ? of_node / inside : of_node) + number));
            inside *= std::max(machine.levels[k].count, 1);
        }
        domain_[0].push_back(node_[r]);
    }
    for (const std::vector<int>& level : domain_) count_.push_back(level.empty() ? 0 : *std::ranges::max_element(level) + 1);
}

std::size_t Placement::apart(int rank, int other) const {
    std::size_t k = 0;
    while (k < domain_.size() && domain(k, rank) == domain(k, other)) ++k;
    return k;
}

Topology Placement::topology(const std::vector<std::size_t>& levels) const {
    std::vector<Domains> result;
    for (const std::size_t k : levels) result.emplace_back(domain_[k]);
    return Topology(std::move(result)).simplified();
}

Topology Placement::topology() const {
    std::vector<std::size_t> levels;
    for (std::size_t k = 0; k + 1 < domain_.size(); ++k) levels.push_back(k);
    return topology(levels);
}

std::vector<Radices> topologies(const Machine& machine, const Placement& places) {
    std::vector<Radices> result;
    const auto add = [&](const Topology& topology) {
        if (topology.levels() == 0) return;
        Radices r{topology.text(), {}};
        if (std::ranges::any_of(result, [&](const Radices& other) { return other.topology == r.topology; })) return;
        // How many domains of the level inside are in the first domain.
        for (int k = topology.levels(); k >= 0; --k) {
            std::vector<int> parts;
            for (int rank = 0; rank < places.ranks(); ++rank) {
                if (k > 0 && topology.level(k - 1).of(rank) != topology.level(k - 1).of(0)) continue;
                parts.push_back(k < topology.levels() ? topology.level(k).of(rank) : rank);
            }
            std::ranges::sort(parts);
            parts.erase(std::ranges::unique(parts).begin(), parts.end());
            r.radices += (r.radices.empty() ? "" : "·") + std::to_string(parts.size());
        }
        result.push_back(std::move(r));
    };
    const std::size_t cores = machine.cores();
    for (std::size_t choice = 1; choice < std::size_t{1} << cores; ++choice) {
        std::vector<std::size_t> levels;
        for (std::size_t k = 0; k < cores; ++k)
            if (choice >> k & 1) levels.push_back(k);
        add(places.topology(levels));
    }
    std::vector<Domains> halves;
    for (int parts = 2; parts < places.ranks() && places.ranks() % parts == 0; parts *= 2) {
        std::vector<int> of;
        for (int rank = 0; rank < places.ranks(); ++rank) of.push_back(rank / (places.ranks() / parts));
        halves.emplace_back(of);
    }
    add(Topology(std::move(halves)).simplified());
    return result;
}

}  // namespace fanlight
