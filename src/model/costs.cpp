#include "model/costs.h"

#include <algorithm>
#include <array>

namespace fanlight {
namespace {

// How much of its buffers a rank's own steps touch.  Pieces use the same scratch memory.
double touched(const Schedule& schedule, double pieces) {
    std::array<std::size_t, 4> end{};
    const auto see = [&](const Address& a, std::size_t bytes) { auto& e = end[static_cast<std::size_t>(a.buffer)]; e = std::max(e, a.offset + bytes); };
    for (const Step& s : schedule.steps) {
        if (s.kind != StepKind::arrive && s.kind != StepKind::get) see(s.from, s.bytes);
        if (s.kind != StepKind::put && s.kind != StepKind::offer) see(s.to, s.bytes);
    }
    return static_cast<double>(end[0] + end[1]) * pieces + static_cast<double>(end[2]);
}

}  // namespace

Costs::Costs(std::span<const Schedule> schedules, const Machine& machine, const Placement& places, const Transfer& transfer)
    : machine_(machine), places_(places), transfer_(transfer), missing_(schedules.size(), 0), beyond_(schedules.size(), 0) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < machine.levels.size(); ++k) {
        first_.push_back(next);
        next += static_cast<std::uint32_t>(places.domains(k) * kinds);
    }
    const auto in_buffers = [&](int r) { return touched(schedules[static_cast<std::size_t>(r)], transfer.pieces); };
    const auto excess = [](double held, double size) { return size > 0 ? std::clamp(held / size - 1, 0.0, 1.0) : 0.0; };
    for (int r = 0; r < places.ranks(); ++r) beyond_[static_cast<std::size_t>(r)] = excess(in_buffers(r), machine.levels.back().size);
    // The largest cache that cores share decides what stays in caches.
    for (std::size_t k = 1; k < machine.cores(); ++k) {
        if (machine.levels[k].size <= 0) continue;
        std::vector<double> held(static_cast<std::size_t>(places.domains(k)), 0);
        for (int r = 0; r < places.ranks(); ++r) held[static_cast<std::size_t>(places.domain(k, r))] += in_buffers(r);
        for (int r = 0; r < places.ranks(); ++r)
            missing_[static_cast<std::size_t>(r)] = excess(held[static_cast<std::size_t>(places.domain(k, r))], machine.levels[k].size);
        break;
    }
}

std::vector<double> Costs::capacities() const {
    std::vector<double> result;
    for (std::size_t k = 0; k < machine_.levels.size(); ++k)
        for (int d = 0; d < places_.domains(k); ++d)
            for (const double c : {machine_.levels[k].bandwidth, machine_.levels[k].link, machine_.levels[k].link, machine_.levels[k].memory}) result.push_back(c);
    return result;
}

double Costs::hop(int from, int to, bool shared_page) const {
    const std::size_t k = places_.apart(from, to);
    if (k == machine_.levels.size()) return 0;
    const Machine::Level& level = machine_.levels[k];
    if (!shared_page || transfer_.own_pages || k <= 1 || level.away == 0) return level.hop;
    // The node's first rank, which has all pages, is in the first of the node's outermost domains.
    const int per_node = std::max(machine_.levels[1].count, 1);
    return places_.domain(1, from) % per_node == 0 ? level.hop : level.away;
}

void Costs::from_memory(int rank, double bytes) {
    bytes *= missing_[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; k < machine_.cores(); ++k) use(k, rank, memory, bytes);
}

std::span<const Flows::Use> Costs::bytes(int rank, double own, int peer, double theirs, bool direct) {
    uses_.clear();
    for (std::size_t k = 1; k < machine_.levels.size(); ++k) {
        // A core has no time for anything else while the system copies.
        const bool slow = k == machine_.cores() && direct && machine_.copied > 0;
        use(k, rank, all, slow ? (own - std::min(own, theirs)) + theirs * machine_.levels[k].bandwidth / machine_.copied : own + theirs);
    }
    from_memory(rank, own);
    use(machine_.cores(), rank, memory, own * beyond_[static_cast<std::size_t>(rank)]);
    if (peer < 0) return uses_;
    from_memory(peer, theirs);
    for (std::size_t k = places_.apart(rank, peer); k < machine_.levels.size(); ++k) {
        use(k, rank, in, theirs);
        use(k, peer, out, theirs);
    }
    return uses_;
}

std::span<const Flows::Use> Costs::message(int from, int to, double bytes) {
    uses_.clear();
    use(0, from, out, bytes);
    use(0, to, in, bytes);
    return uses_;
}

}  // namespace fanlight
