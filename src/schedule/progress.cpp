#include "schedule/progress.h"

#include <algorithm>
#include <stdexcept>

#include "schedule/describe.h"

namespace fanlight {
namespace {

class Runner {
public:
    Runner(std::span<const Schedule> schedules, const Matching& matching, Puts puts,
           Observer& observer)
        : schedules_(schedules),
          matching_(matching),
          puts_(puts),
          observer_(observer),
          pending_(schedules.size(), 0),
          state_(matching.messages.size()),
          waiting_(schedules.size()),
          made_(schedules.size()) {
        progress_.round.assign(schedules.size(), 0);
        for (std::size_t r = 0; r < schedules.size(); ++r) {
            waiting_[r].resize(matching.offers[r].size());
            made_[r].assign(matching.offers[r].size(), 0);
        }
    }

    Progress run() {
        for (int r = 0; r < static_cast<int>(schedules_.size()); ++r) {
            enter(r);
            while (!ready_.empty()) {
                const int rank = ready_.back();
                ready_.pop_back();
                auto& round = progress_.round[static_cast<std::size_t>(rank)];
                observer_.leave(rank, round);
                ++round;
                enter(rank);
            }
        }
        for (std::size_t r = 0; r < schedules_.size(); ++r)
            if (progress_.round[r] < schedules_[r].rounds()) progress_.finished = false;
        progress_.taken.reserve(state_.size());
        progress_.put_over.reserve(state_.size());
        for (const State& s : state_) {
            progress_.taken.push_back(s.taken);
            progress_.put_over.push_back(s.put_over);
        }
        return std::move(progress_);
    }

private:
    struct State {
        bool put_entered = false;
        bool arrive_entered = false;
        bool put_over = false;
        bool taken = false;
    };

    void enter(int rank) {
        const auto r = static_cast<std::size_t>(rank);
        const std::uint32_t round = progress_.round[r];
        const Schedule& schedule = schedules_[r];
        if (round >= schedule.rounds()) return;
        observer_.enter(rank, round);
        const std::uint32_t begin = round == 0 ? 0 : schedule.round_ends[round - 1];
        const std::uint32_t end = schedule.round_ends[round];
        pending_[r] = 1;  // this loop itself, so that the round does not end inside it
        for (std::uint32_t i = begin; i < end; ++i) {
            const Step& step = schedule.steps[i];
            switch (step.kind) {
                case StepKind::put:
                case StepKind::arrive: {
                    ++pending_[r];
                    const std::uint32_t m = matching_.message_of[r][i];
                    if (m == none) break;  // without a mate: never over
                    (step.kind == StepKind::put ? state_[m].put_entered
                                                : state_[m].arrive_entered) = true;
                    advance(m);
                    break;
                }
                case StepKind::get: {
                    ++pending_[r];
                    const StepPlace get{rank, round, i};
                    const auto peer = static_cast<std::size_t>(step.peer);
                    const auto offer = static_cast<std::size_t>(step.offer);
                    if (made_[peer][offer])
                        finish_get(get);
                    else
                        waiting_[peer][offer].push_back(get);
                    break;
                }
                case StepKind::offer: {
                    const auto offer = static_cast<std::size_t>(step.offer);
                    made_[r][offer] = 1;
                    for (const StepPlace& get : waiting_[r][offer]) finish_get(get);
                    break;
                }
                case StepKind::copy:
                case StepKind::combine:
                    break;
            }
        }
        step_over(rank);
    }

    const Step& step_of(const StepPlace& place) const {
        return schedules_[static_cast<std::size_t>(place.rank)].steps[place.step];
    }

    void step_over(int rank) {
        if (--pending_[static_cast<std::size_t>(rank)] == 0) ready_.push_back(rank);
    }

    void finish_get(const StepPlace& get) {
        observer_.got(get);
        step_over(get.rank);
    }

    // Does what has become possible for this message and those behind it.
    void advance(std::uint32_t m) {
        while (m != none) {
            const Message& message = matching_.messages[m];
            State& state = state_[m];
            if (!state.put_entered) return;
            const bool in_turn = message.previous == none || state_[message.previous].taken;
            const bool may_wait = puts_ == Puts::rendezvous && !step_of(message.put).bit;
            if (!state.put_over && (puts_ == Puts::free || (in_turn && (!may_wait || state.arrive_entered)))) {
                state.put_over = true;
                step_over(message.put.rank);
            }
            if (!in_turn || !state.arrive_entered || state.taken) return;
            state.taken = true;
            observer_.taken(message);
            step_over(message.arrive.rank);
            m = message.next;
        }
    }

    std::span<const Schedule> schedules_;
    const Matching& matching_;
    Puts puts_;
    Observer& observer_;
    std::vector<std::uint32_t> pending_;  // steps of the current round that are not over
    std::vector<State> state_;
    std::vector<std::vector<std::vector<StepPlace>>> waiting_;  // gets, for each rank's offers
    std::vector<std::vector<char>> made_;
    std::vector<int> ready_;  // ranks whose round is over
    Progress progress_;
};

struct Wait {
    std::string text;
    int for_rank = -1;
};

// The first step of the rank's round that cannot end, and whom it waits for.
Wait wait_of(std::span<const Schedule> schedules, const Matching& matching,
             const Progress& progress, int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Schedule& schedule = schedules[r];
    const std::uint32_t round = progress.round[r];
    const std::uint32_t begin = round == 0 ? 0 : schedule.round_ends[round - 1];
    for (std::uint32_t i = begin; i < schedule.round_ends[round]; ++i) {
        const Step& step = schedule.steps[i];
        const std::string here = place(rank, round) + ": " + describe(step) + " waits for ";
        if (step.kind == StepKind::get) {
            const auto peer = static_cast<std::size_t>(step.peer);
            const StepPlace& offer = matching.offers[peer][static_cast<std::size_t>(step.offer)];
            if (progress.round[peer] < offer.round)
                return {here + "the offer in round " + std::to_string(offer.round) + " of rank " +
                            std::to_string(step.peer),
                        step.peer};
        }
        if (step.kind != StepKind::put && step.kind != StepKind::arrive) continue;
        const std::uint32_t m = matching.message_of[r][i];
        if (m == none) return {here + "a mate that does not exist", -1};
        const bool over = step.kind == StepKind::put ? progress.put_over[m] : progress.taken[m];
        if (over) continue;
        const Message& message = matching.messages[m];
        const StepPlace& mate = step.kind == StepKind::put ? message.arrive : message.put;
        if (message.previous != none && !progress.taken[message.previous]) {
            const StepPlace& before = matching.messages[message.previous].arrive;
            if (before.rank != rank)
                return {here + "the arrive before it, in round " + std::to_string(before.round) +
                            " of rank " + std::to_string(before.rank),
                        before.rank};
        }
        return {here + (step.kind == StepKind::put ? "the arrive" : "the put") + " in round " +
                    std::to_string(mate.round) + " of rank " + std::to_string(mate.rank),
                mate.rank};
    }
    return {place(rank, round) + " does not end", -1};
}

}  // namespace

Progress run(std::span<const Schedule> schedules, const Matching& matching, Puts puts,
             Observer& observer) {
    return Runner(schedules, matching, puts, observer).run();
}

void run_to_end(std::span<const Schedule> schedules, const Matching& matching, Observer& observer) {
    const Progress progress = run(schedules, matching, Puts::one_ahead, observer);
    if (!progress.finished)
        throw std::invalid_argument("these schedules deadlock: " +
                                    explain_deadlock(schedules, matching, progress)[0]);
}

void check_topology(std::span<const Schedule> schedules, const Topology& topology) {
    const auto ranks = static_cast<int>(schedules.size());
    if (topology.levels() > 0 && topology.level(0).ranks() != ranks)
        throw std::invalid_argument("the topology is of " + std::to_string(topology.level(0).ranks()) +
                                    " ranks, there are " + std::to_string(ranks));
}

std::vector<std::string> explain_deadlock(std::span<const Schedule> schedules,
                                          const Matching& matching, const Progress& progress) {
    // Follow the waits from one rank to the next until a rank comes back: that is the circle.
    std::vector<std::string> lines;
    std::vector<int> path;
    int rank = 0;
    while (progress.round[static_cast<std::size_t>(rank)] >=
           schedules[static_cast<std::size_t>(rank)].rounds())
        ++rank;
    while (rank >= 0) {
        const auto seen = std::find(path.begin(), path.end(), rank);
        if (seen != path.end()) {
            lines.erase(lines.begin(), lines.begin() + (seen - path.begin()));
            break;
        }
        path.push_back(rank);
        const Wait wait = wait_of(schedules, matching, progress, rank);
        lines.push_back(wait.text);
        rank = wait.for_rank;
    }
    return lines;
}

}  // namespace fanlight
