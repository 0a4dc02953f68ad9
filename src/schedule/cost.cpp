#include "schedule/cost.h"

#include <algorithm>

#include "schedule/matching.h"
#include "schedule/progress.h"

namespace fanlight {
namespace {

class Clock : public Observer {
public:
    Clock(std::span<const Schedule> schedules, const Matching& matching, const CostModel& model,
          const Topology& topology)
        : schedules_(schedules),
          matching_(matching),
          model_(model),
          topology_(topology),
          ranks_(schedules.size()),
          arrival_(matching.messages.size(), 0) {
        for (std::size_t r = 0; r < schedules.size(); ++r)
            ranks_[r].offered.resize(matching.offers[r].size(), 0);
    }

    // The processor does the round's own steps one after the other.
    void enter(int rank, std::uint32_t round) override {
        const auto r = static_cast<std::size_t>(rank);
        Rank& me = ranks_[r];
        me.round_end = me.now;
        for (std::uint32_t i = begin(r, round); i < schedules_[r].round_ends[round]; ++i) {
            const Step& s = schedules_[r].steps[i];
            const auto bytes = static_cast<double>(s.bytes);
            switch (s.kind) {
                case StepKind::put: {
                    const Link& link = link_to(r, s.peer);
                    me.now += link.overhead;
                    const double sent = leave_port(me.out, me.now, bytes, link);
                    arrival_[matching_.message_of[r][i]] = sent + link.latency;
                    me.round_end = std::max(me.round_end, sent);
                    break;
                }
                case StepKind::offer:
                    me.offered[static_cast<std::size_t>(s.offer)] = me.now;
                    break;
                case StepKind::copy:
                    me.now += bytes * model_.copy_per_byte;
                    break;
                case StepKind::combine:
                    me.now += bytes * model_.combine_per_byte;
                    break;
                case StepKind::arrive:
                case StepKind::get:
                    break;
            }
        }
    }

    // All that the round waits for is known now: it is taken in the order in which it comes.
    void leave(int rank, std::uint32_t round) override {
        const auto r = static_cast<std::size_t>(rank);
        Rank& me = ranks_[r];
        waiting_.clear();
        for (std::uint32_t i = begin(r, round); i < schedules_[r].round_ends[round]; ++i) {
            const Step& s = schedules_[r].steps[i];
            if (s.kind == StepKind::arrive)
                waiting_.push_back({arrival_[matching_.message_of[r][i]], i});
            if (s.kind == StepKind::get) {
                const double offered =
                    ranks_[static_cast<std::size_t>(s.peer)].offered[static_cast<std::size_t>(s.offer)];
                waiting_.push_back({offered + link_to(r, s.peer).latency, i});
            }
        }
        std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
            return a.ready != b.ready ? a.ready < b.ready : a.step < b.step;
        });
        for (const Waiting& w : waiting_) {
            const Step& s = schedules_[r].steps[w.step];
            const Link& link = link_to(r, s.peer);
            const auto bytes = static_cast<double>(s.bytes);
            double there;
            if (s.kind == StepKind::arrive) {
                // Its bytes end at w.ready, or behind those of the message before it.
                there = std::max(w.ready, me.in + std::max(link.gap, bytes * link.per_byte));
                me.in = there;
                me.now = std::max(me.now, there) + link.overhead;
            } else {
                me.now = std::max(me.now, w.ready) + link.overhead;
                there = leave_port(ranks_[static_cast<std::size_t>(s.peer)].out, me.now, bytes, link) +
                        link.latency;
                there = std::max(there, me.in + bytes * link.per_byte);
                me.in = there;
            }
            if (s.order != Order::overwrite)
                me.now = std::max(me.now, there) + bytes * model_.combine_per_byte;
            me.round_end = std::max(me.round_end, there);
        }
        me.now = std::max(me.now, me.round_end);
    }

    Cost result() const {
        Cost cost;
        for (const Rank& r : ranks_) {
            cost.finish.push_back(r.now);
            cost.seconds = std::max(cost.seconds, r.now);
        }
        return cost;
    }

private:
    struct Rank {
        double now = 0;        // its processor is free
        double round_end = 0;  // its round's puts and gets are over
        double out = 0;        // its ports are free
        double in = 0;
        std::vector<double> offered;
    };
    struct Waiting {
        double ready;
        std::uint32_t step;
    };

    std::uint32_t begin(std::size_t r, std::uint32_t round) const {
        return round == 0 ? 0 : schedules_[r].round_ends[round - 1];
    }
    const Link& link_to(std::size_t r, int peer) const {
        const bool one_node = topology_.levels() == 0 || topology_.level(0).share(static_cast<int>(r), peer);
        return one_node ? model_.inside : model_.between;
    }
    // When the last byte has left a port that is free at `port`.
    static double leave_port(double& port, double ready, double bytes, const Link& link) {
        const double start = std::max(port, ready);
        port = start + std::max(link.gap, bytes * link.per_byte);
        return start + bytes * link.per_byte;
    }

    std::span<const Schedule> schedules_;
    const Matching& matching_;
    const CostModel& model_;
    const Topology& topology_;
    std::vector<Rank> ranks_;
    std::vector<double> arrival_;  // of each message's last byte
    std::vector<Waiting> waiting_;
};

}  // namespace

Cost cost(std::span<const Schedule> schedules, const CostModel& model, const Topology& topology) {
    check_topology(schedules, topology);
    const Matching matching = match_or_throw(schedules);
    Clock clock(schedules, matching, model, topology);
    run_to_end(schedules, matching, clock);
    return clock.result();
}

}  // namespace fanlight
