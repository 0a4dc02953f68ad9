#include "execute/exchange.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "execute/staging.h"

namespace fanlight {

namespace {

// A receive as its receiver's schedule has it.
struct Receive {
    bool get;
    std::uint32_t which;   // the put's number among those of this peer, or the offer's
    std::uint32_t number;  // among all from this peer: others' lengths may be unknown here
    InWindow::Place place;
    std::uint32_t epoch;
    const Step* step;
};

// One rank's schedule, with what others must know of it.
struct Side {
    Schedule schedule;
    std::vector<Receive> receives;        // in the order of the schedule
    std::vector<std::size_t> offer_slots;
    std::vector<const Step*> offers;
    std::vector<std::uint32_t> round_epochs;  // fences before each round's end

    Side(Schedule s, int rank, const Reach& reach) : schedule(std::move(s)) {
        std::map<int, std::uint32_t> puts, numbers;
        InWindow window(schedule, rank, reach);
        for (const Step& step : schedule.steps) {
            const InWindow::Place place = window.next(step);
            if (step.kind == StepKind::arrive) {
                receives.push_back({false, puts[step.peer]++, numbers[step.peer]++, place, 0, &step});
            } else if (step.kind == StepKind::get) {
                receives.push_back({true, static_cast<std::uint32_t>(step.offer), numbers[step.peer]++, place, 0, &step});
            } else if (step.kind == StepKind::offer) {
                offers.push_back(&step);
                offer_slots.push_back(place.slot);
            }
        }
    }
};

class Sides {
public:
    Sides(const Algorithm& algorithm, const Problem& problem, const Reach& reach)
        : algorithm_(algorithm), problem_(problem), reach_(reach), sides_(static_cast<std::size_t>(problem.size)) {}

    Side& operator[](int rank) {
        auto& side = sides_[static_cast<std::size_t>(rank)];
        if (!side) {
            problem_.rank = rank;
            side.emplace(algorithm_.schedule(problem_), rank, reach_);
        }
        return *side;
    }

private:
    const Algorithm& algorithm_;
    Problem problem_;
    const Reach& reach_;
    std::vector<std::optional<Side>> sides_;
};

// Runs all ranks from fence to fence: what is put or offered before a fence may be received
// behind it, and what is got behind it is there behind the next one.
std::uint32_t find_epochs(Sides& sides, int size) {
    struct Progress {
        std::size_t round = 0, receive = 0;
        std::uint32_t began = 0;                   // the epoch in which the round began
        std::map<int, std::vector<std::uint32_t>> puts;  // epochs, by target
        std::vector<std::uint32_t> offers;
        bool published = false;
    };
    std::vector<Progress> all(static_cast<std::size_t>(size));
    std::uint32_t epoch = 0;
    for (bool unfinished = true; unfinished; ++epoch) {
        unfinished = false;
        for (int r = 0; r < size; ++r) {
            Progress& p = all[static_cast<std::size_t>(r)];
            Side& side = sides[r];
            while (p.round < side.schedule.rounds()) {
                std::uint32_t end = p.began;
                std::size_t receive = p.receive;
                bool over = true;
                for (const Step& s : side.schedule.round(p.round)) {
                    if (s.kind == StepKind::put) {
                        if (!p.published) p.puts[s.peer].push_back(p.began);
                        end = std::max(end, p.began + 1);
                    } else if (s.kind == StepKind::offer) {
                        if (!p.published) p.offers.push_back(p.began);
                    } else if (s.kind == StepKind::arrive || s.kind == StepKind::get) {
                        Receive& got = side.receives[receive++];
                        const Progress& peer = all[static_cast<std::size_t>(s.peer)];
                        const std::vector<std::uint32_t>* sent = &peer.offers;
                        if (!got.get) {
                            const auto puts = peer.puts.find(r);
                            sent = puts == peer.puts.end() ? nullptr : &puts->second;
                        }
                        // Only what was sent before this epoch's beginning.
                        if (!sent || got.which >= sent->size() || (*sent)[got.which] >= epoch) {
                            over = false;
                            continue;
                        }
                        got.epoch = std::max(p.began, (*sent)[got.which] + 1);
                        end = std::max(end, got.epoch + (got.get ? 1 : 0));
                    }
                }
                p.published = true;
                if (!over || end > epoch) break;
                side.round_epochs.push_back(end);
                p.began = end;
                p.published = false;
                p.receive = receive;
                ++p.round;
            }
            unfinished |= p.round < side.schedule.rounds();
        }
    }
    return epoch - 1;
}

// Of one rank, to and from those that are not near.
class Translator {
public:
    Translator(const Problem& problem, const Reach& reach, Sides& sides, Exchange& result)
        : me_(problem.rank), reach_(reach), sides_(sides), own_(sides[problem.rank]), result_(result) {
        for (const Step* offer : own_.offers) {
            const auto readers = own_.schedule.readers_of(*offer);
            readers_.insert(readers.begin(), readers.end());
        }
    }

    void run() {
        result_.round_epochs = own_.round_epochs;
        std::size_t received = 0;
        for (std::uint32_t i = 0; i < own_.schedule.steps.size(); ++i) {
            const Step& s = own_.schedule.steps[i];
            if (s.kind == StepKind::put) put(i, s);
            else if (s.kind == StepKind::offer) offer(i, s);
            else if (s.kind == StepKind::arrive || s.kind == StepKind::get) receive(s, own_.receives[received++]);
        }
    }

private:
    RemoteMessage message(int peer, const Receive& r, std::size_t slot) const {
        return {.peer = peer, .offered = r.get, .number = r.number,
                .bytes = r.step->bytes, .slot = slot, .flag = r.place.flag, .epoch = r.epoch};
    }
    static std::size_t slot_in_offer(const Side& owner, const Receive& r) {
        const Step& offer = *owner.offers[r.which];
        return owner.offer_slots[r.which] + (r.step->bytes ? r.step->from.offset - offer.from.offset : 0);
    }

    void receive(const Step& s, const Receive& r) {
        if (reach_.near(me_, s.peer)) return;
        std::size_t slot = 0;
        if (reach_.over_windows()) slot = r.get ? slot_in_offer(sides_[s.peer], r) : r.place.slot;
        result_.receives.push_back(message(s.peer, r, slot));
    }
    void put(std::uint32_t step, const Step& s) {
        if (reach_.near(me_, s.peer)) return;
        const std::uint32_t which = puts_[s.peer]++;
        // The peer receives nothing else from this rank, so that its schedule need not be known.
        if (reach_.by_messages() && !readers_.contains(s.peer)) {
            result_.sends.push_back({step, s.from, {.peer = s.peer, .number = which, .bytes = s.bytes}});
            return;
        }
        for (const Receive& r : sides_[s.peer].receives)
            if (!r.get && r.which == which && r.step->peer == me_) {
                result_.sends.push_back({step, s.from, message(s.peer, r, r.place.slot)});
                return;
            }
    }
    void offer(std::uint32_t step, const Step& s) {
        for (const int reader : own_.schedule.readers_of(s)) {
            if (reach_.near(me_, reader)) continue;
            for (const Receive& r : sides_[reader].receives)
                if (r.get && r.step->peer == me_ && r.which == static_cast<std::uint32_t>(s.offer))
                    result_.sends.push_back({step, r.step->bytes ? r.step->from : s.from, message(reader, r, slot_in_offer(own_, r))});
        }
    }

    const int me_;
    const Reach& reach_;
    Sides& sides_;
    const Side& own_;
    Exchange& result_;
    std::set<int> readers_;  // of this rank's offers
    std::map<int, std::uint32_t> puts_;
};

}  // namespace

Exchange exchange(const Algorithm& algorithm, const Problem& problem, const Reach& reach) {
    Exchange result;
    Sides sides(algorithm, problem, reach);
    if (reach.transport == Transport::rma_fence) result.epochs = find_epochs(sides, problem.size);
    Translator(problem, reach, sides, result).run();
    return result;
}

}  // namespace fanlight
