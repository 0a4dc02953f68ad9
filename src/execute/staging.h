// Where a schedule's long messages are staged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "execute/plan.h"

namespace fanlight {

Place place_of(std::size_t bytes, const BindOptions&);
// Whether any of its readers shares memory with its owner.
bool is_read_near(const Schedule&, int rank, const Step& offer, const Reach&);

// Hands out a rank's window: what ranks of other nodes put into it, and what they get from it.
class InWindow {
public:
    InWindow(const Schedule& schedule, int rank, const Reach& reach) : schedule_(schedule), rank_(rank), reach_(reach) {}
    struct Place {
        std::size_t slot;
        std::uint32_t flag;
    };
    // The payload and the flag of the schedule's next step.
    Place next(const Step&);
    RemoteRoom used() const { return used_; }

private:
    const Schedule& schedule_;
    const int rank_;
    const Reach& reach_;
    RemoteRoom used_;
};

// How many of something each peer has.
class Counter {
public:
    std::size_t& operator[](int peer) {
        if (counts_.size() <= few) {
            for (auto& [p, n] : counts_)
                if (p == peer) return n;
            counts_.emplace_back(peer, 0);
            if (counts_.size() > few)
                for (std::size_t i = 0; i < counts_.size(); ++i) place(counts_[i].first) = i + 1;
            return counts_.back().second;
        }
        std::size_t& at = place(peer);
        if (at == 0) {
            counts_.emplace_back(peer, 0);
            at = counts_.size();
        }
        return counts_[at - 1].second;
    }
    std::size_t most() const {
        std::size_t most = 0;
        for (const auto& [p, n] : counts_) most = std::max(most, n);
        return most;
    }

private:
    static constexpr std::size_t few = 8;  // are found by looking at all
    std::size_t& place(int peer) {
        const auto p = static_cast<std::size_t>(peer);
        if (places_.size() <= p) places_.resize(p + 1);
        return places_[p];
    }
    std::vector<std::pair<int, std::size_t>> counts_;
    std::vector<std::size_t> places_;  // in counts_, and one; by peer
};

// Hands out the staging: as many slots for each channel as it has cells, each as long as the
// longest message that uses it.  Only the sender needs to know: a reader finds the place in the
// cell.
class Staging {
public:
    Staging(const Schedule& schedule, int rank, const SharedSlots& slots, const BindOptions& options)
        : depth_(static_cast<std::size_t>(slots.depth())), offers_(static_cast<std::size_t>(schedule.offers)) {
        for (const Step& s : schedule.steps) {
            if (s.bit || (s.kind == StepKind::put && !options.reach.near(rank, s.peer))) continue;
            if (s.kind == StepKind::put && place_of(s.bytes, options) == Place::staged) {
                Slot& slot = slot_of(s.peer);
                slot.bytes = std::max(slot.bytes, s.bytes);
            } else if (s.kind == StepKind::put) {
                slot_of(s.peer);
            }
        }
        std::size_t used = 0;
        Counter used_at;
        for (Slot& slot : slots_) slot.at = options.staged_from + take(slot.bytes, options.stage_at_reader ? used_at[slot.peer] : used);
        for (const Step& s : schedule.steps)
            if (s.kind == StepKind::offer)
                offers_[static_cast<std::size_t>(s.offer)] =
                    place_of(s.bytes, options) == Place::staged && is_read_near(schedule, rank, s, options.reach) ? take(s.bytes, used) : 0;
        puts_ = {};
    }
    // The place of the next put to this peer, in the order of the schedule.
    std::size_t next_put(int peer) { return slot_of(peer).at; }
    std::size_t offer(int k) const { return offers_[static_cast<std::size_t>(k)]; }
    // In one rank's area.
    std::size_t total() const { return total_; }
    std::size_t longest() const { return longest_; }

private:
    struct Slot {
        int peer;
        std::size_t bytes, at;
    };
    Slot& slot_of(int peer) {
        const std::size_t number = puts_[peer]++ % depth_;
        std::size_t& at = places_[static_cast<int>(static_cast<std::size_t>(peer) * depth_ + number)];
        if (at == 0) {
            slots_.push_back({peer, 0, 0});
            at = slots_.size();
        }
        return slots_[at - 1];
    }
    std::size_t take(std::size_t bytes, std::size_t& used) {
        const std::size_t at = used;
        used += whole_lines(bytes);
        total_ = std::max(total_, used);
        longest_ = std::max(longest_, bytes);
        return at;
    }
    std::size_t depth_;
    std::vector<std::size_t> offers_;
    std::vector<Slot> slots_;
    Counter puts_, places_;  // of each peer's slots: which of slots_, and one
    std::size_t total_ = 0, longest_ = 0;
};

}  // namespace fanlight
