// What steps take on a machine: hops between two ranks, and what their bytes pass on the way.
#pragma once

#include <span>
#include <vector>

#include "model/flows.h"
#include "model/machine.h"
#include "model/simulate.h"

namespace fanlight {

class Costs {
public:
    Costs(std::span<const Schedule>, const Machine&, const Placement&, const Transfer&);

    // All resources: of each level and domain the bandwidth, what comes in and what goes out, the memory.
    std::vector<double> capacities() const;

    bool share_node(int rank, int other) const { return places_.domain(0, rank) == places_.domain(0, other); }
    // One line from one rank to the other.  Shared pages: where Transfer says; else in the memory of the first.
    double hop(int from, int to, bool shared_page) const;
    double begin() const { return machine_.begin; }
    double step() const { return machine_.step; }
    double reader() const { return machine_.reader; }
    double gather() const { return transfer_.asks_ahead ? machine_.gather : 1; }
    bool combines_in_cache(std::size_t bytes) const { return static_cast<double>(bytes) <= machine_.levels.back().size || machine_.levels.back().size == 0; }
    // By one core, nobody else about.
    double alone(double bytes) const { return bytes / machine_.levels.back().bandwidth; }

    // Before the first byte of what is in another's memory comes.
    double call() const { return machine_.copied > 0 ? machine_.call : 0; }
    // A rank reads or writes so many bytes of its own, and of another's; `direct`: that are in that one's own memory.
    std::span<const Flows::Use> bytes(int rank, double own, int peer = -1, double theirs = 0, bool direct = false);

    // Of a put under a lock: before it, and from its end at the target until the writer knows.
    double lock() const { return transfer_.locks ? 2 * network().latency : 0; }
    double unlock() const { return transfer_.locks ? network().latency : 0; }

    const Machine::Level& network() const { return machine_.levels.front(); }
    bool waits_for_receiver(std::size_t bytes) const { return !transfer_.locks && static_cast<double>(bytes) > network().eager; }
    std::span<const Flows::Use> message(int from, int to, double bytes);

private:
    enum Kind { all, in, out, memory, kinds };
    std::uint32_t resource(std::size_t level, int rank, Kind kind) const {
        return first_[level] + static_cast<std::uint32_t>(places_.domain(level, rank) * kinds + kind);
    }
    void use(std::size_t level, int rank, Kind kind, double bytes) {
        if (bytes > 0) uses_.push_back({resource(level, rank, kind), bytes});
    }
    void from_memory(int rank, double bytes);

    const Machine& machine_;
    const Placement& places_;
    const Transfer transfer_;
    std::vector<std::uint32_t> first_;  // of each level
    std::vector<double> missing_;       // of each rank's bytes, what no shared cache holds
    std::vector<double> beyond_;        // and what its core's own does not
    std::vector<Flows::Use> uses_;
};

}  // namespace fanlight
