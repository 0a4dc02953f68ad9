#include "schedule/count.h"

#include <algorithm>
#include <vector>

#include "schedule/matching.h"
#include "schedule/progress.h"

namespace fanlight {
namespace {

// How many messages lie behind one another on the way to each rank's current round.
class Depth : public Observer {
public:
    Depth(std::span<const Schedule> schedules, const Matching& matching)
        : schedules_(schedules),
          matching_(matching),
          now_(schedules.size(), 0),
          later_(schedules.size(), 0),
          at_round_(schedules.size()) {}

    void enter(int rank, std::uint32_t) override {
        const auto r = static_cast<std::size_t>(rank);
        now_[r] = later_[r];
        at_round_[r].push_back(now_[r]);
    }
    void taken(const Message& m) override { learn(m.arrive.rank, m.put); }
    void got(const StepPlace& get) override {
        const Step& s = schedules_[static_cast<std::size_t>(get.rank)].steps[get.step];
        learn(get.rank, matching_.offers[static_cast<std::size_t>(s.peer)][static_cast<std::size_t>(s.offer)]);
    }

    std::size_t deepest = 0;

private:
    void learn(int rank, const StepPlace& from) {
        const std::size_t depth = at_round_[static_cast<std::size_t>(from.rank)][from.round] + 1;
        auto& later = later_[static_cast<std::size_t>(rank)];
        later = std::max(later, depth);
        deepest = std::max(deepest, depth);
    }

    std::span<const Schedule> schedules_;
    const Matching& matching_;
    std::vector<std::size_t> now_;
    std::vector<std::size_t> later_;
    std::vector<std::vector<std::size_t>> at_round_;
};

}  // namespace

Counts count(std::span<const Schedule> schedules, const Topology& topology) {
    check_topology(schedules, topology);
    const Matching matching = match_or_throw(schedules);
    Counts result;
    result.between.resize(static_cast<std::size_t>(topology.levels()));
    for (std::size_t r = 0; r < schedules.size(); ++r) {
        result.rounds = std::max(result.rounds, schedules[r].rounds());
        for (const Step& s : schedules[r].steps) {
            const bool moves = s.kind == StepKind::put || s.kind == StepKind::get;
            if (s.kind == StepKind::copy) result.copied += s.bytes;
            if (s.order != Order::overwrite) result.combined += s.bytes;
            if (!moves) continue;
            const auto add = [&](Traffic& t) {
                ++(s.bytes > 0 ? t.messages : t.signals);
                t.bytes += s.bytes;
            };
            add(result.all);
            for (int level = topology.apart(static_cast<int>(r), s.peer); level < topology.levels(); ++level)
                add(result.between[static_cast<std::size_t>(level)]);
        }
    }
    Depth depth(schedules, matching);
    run_to_end(schedules, matching, depth);
    result.depth = depth.deepest;
    return result;
}

}  // namespace fanlight
