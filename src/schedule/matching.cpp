#include "schedule/matching.h"

#include <algorithm>
#include <stdexcept>

#include "schedule/describe.h"

namespace fanlight {
namespace {

// The puts (or arrives) of all channels, those of one channel behind one another and in
// the order of the schedule.  A channel is a pair of ranks: source * size + target.
struct Channels {
    std::vector<std::uint32_t> begins;  // channel c: places[begins[c] .. begins[c + 1])
    std::vector<StepPlace> places;
};

class Matcher {
public:
    explicit Matcher(std::span<const Schedule> schedules)
        : schedules_(schedules), size_(schedules.size()) {}

    Matching run() {
        result_.message_of.resize(size_);
        result_.offers.resize(size_);
        check_shape();
        if (!result_.faults.empty()) return std::move(result_);
        pair_messages();
        check_gets();
        return std::move(result_);
    }

private:
    const Step& step(const StepPlace& p) const {
        return schedules_[static_cast<std::size_t>(p.rank)].steps[p.step];
    }
    void fault(const StepPlace& p, const std::string& what) {
        result_.faults.push_back(place(p.rank, p.round) + ": " + describe(step(p)) + " " + what);
    }

    template <class Visit>
    void for_each_step(Visit visit) const {
        for (std::size_t r = 0; r < size_; ++r) {
            std::uint32_t index = 0;
            for (std::size_t i = 0; i < schedules_[r].rounds(); ++i)
                for (; index < schedules_[r].round_ends[i]; ++index)
                    visit(StepPlace{static_cast<int>(r), static_cast<std::uint32_t>(i), index},
                          schedules_[r].steps[index]);
        }
    }

    bool is_rank(int peer) const { return peer >= 0 && static_cast<std::size_t>(peer) < size_; }

    // Everything that must hold before steps of different ranks can be compared at all.
    void check_shape() {
        for (std::size_t r = 0; r < size_; ++r) {
            const Schedule& s = schedules_[r];
            const bool ordered = std::is_sorted(s.round_ends.begin(), s.round_ends.end());
            const std::size_t end = s.round_ends.empty() ? 0 : s.round_ends.back();
            if (!ordered || end != s.steps.size())
                result_.faults.push_back("rank " + std::to_string(r) + ": its rounds hold " +
                                         std::to_string(end) + " steps, the schedule has " +
                                         std::to_string(s.steps.size()));
        }
        if (!result_.faults.empty()) return;
        for (std::size_t r = 0; r < size_; ++r)
            result_.message_of[r].assign(schedules_[r].steps.size(), none);
        for_each_step([&](const StepPlace& p, const Step& s) {
            if (s.kind == StepKind::put || s.kind == StepKind::arrive || s.kind == StepKind::get) {
                if (!is_rank(s.peer))
                    fault(p, "names a rank that does not exist; there are " + std::to_string(size_));
                else if (s.peer == p.rank)
                    fault(p, "names its own rank; a copy does that");
            }
            if (s.kind == StepKind::offer) check_offer(p, s);
        });
        for (std::size_t r = 0; r < size_; ++r)
            if (static_cast<std::size_t>(schedules_[r].offers) != result_.offers[r].size())
                result_.faults.push_back("rank " + std::to_string(r) + ": the schedule says " +
                                         std::to_string(schedules_[r].offers) +
                                         " offers, its steps make " +
                                         std::to_string(result_.offers[r].size()));
    }

    void check_offer(const StepPlace& p, const Step& s) {
        auto& offers = result_.offers[static_cast<std::size_t>(p.rank)];
        if (static_cast<std::size_t>(s.offer) != offers.size())
            fault(p, "should have the number " + std::to_string(offers.size()));
        offers.push_back(p);
        const Schedule& schedule = schedules_[static_cast<std::size_t>(p.rank)];
        if (std::size_t{s.first_reader} + s.readers > schedule.readers.size()) {
            fault(p, "names readers behind the end of the schedule's readers");
            return;
        }
        const auto readers = schedule.readers_of(s);
        for (std::size_t i = 0; i < readers.size(); ++i) {
            if (!is_rank(readers[i]) || readers[i] == p.rank)
                fault(p, "names rank " + std::to_string(readers[i]) + " as a reader");
        }
    }

    Channels channels_of(StepKind kind) const {
        Channels result;
        result.begins.assign(size_ * size_ + 1, 0);
        const auto channel = [&](const StepPlace& p, const Step& s) {
            const auto here = static_cast<std::size_t>(p.rank);
            const auto peer = static_cast<std::size_t>(s.peer);
            return kind == StepKind::put ? here * size_ + peer : peer * size_ + here;
        };
        for_each_step([&](const StepPlace& p, const Step& s) {
            if (s.kind == kind) ++result.begins[channel(p, s) + 1];
        });
        for (std::size_t c = 0; c < size_ * size_; ++c) result.begins[c + 1] += result.begins[c];
        result.places.resize(result.begins.back());
        std::vector<std::uint32_t> next(result.begins.begin(), result.begins.end() - 1);
        for_each_step([&](const StepPlace& p, const Step& s) {
            if (s.kind == kind) result.places[next[channel(p, s)]++] = p;
        });
        return result;
    }

    void pair_messages() {
        const Channels puts = channels_of(StepKind::put);
        const Channels arrives = channels_of(StepKind::arrive);
        result_.messages.reserve(puts.places.size());
        for (std::size_t c = 0; c < size_ * size_; ++c) {
            std::uint32_t put = puts.begins[c];
            std::uint32_t arrive = arrives.begins[c];
            std::uint32_t previous = none;
            for (; put < puts.begins[c + 1] && arrive < arrives.begins[c + 1]; ++put, ++arrive)
                previous = pair(puts.places[put], arrives.places[arrive], previous);
            for (; put < puts.begins[c + 1]; ++put)
                fault(puts.places[put], "is left over: there is no arrive for it");
            for (; arrive < arrives.begins[c + 1]; ++arrive)
                fault(arrives.places[arrive], "waits for a put that is never made");
        }
    }

    std::uint32_t pair(const StepPlace& put, const StepPlace& arrive, std::uint32_t previous) {
        const auto index = static_cast<std::uint32_t>(result_.messages.size());
        const Step& p = step(put);
        const Step& a = step(arrive);
        const bool same_place = p.to == a.to || p.to.buffer == Buffer::unknown;
        if (p.bytes != a.bytes || (p.bytes > 0 && !same_place))
            fault(arrive, "does not fit the put that it takes: " + place(put.rank, put.round) + ": " +
                              describe(p));
        if (p.bit != a.bit)
            fault(arrive, "and the put that it takes are not both a bit of the register");
        if (p.bit && p.bytes > 0) fault(put, "has bytes, for which a bit is no place");
        for (std::uint32_t m = p.bit ? previous : none; m != none; m = result_.messages[m].previous)
            if (step(result_.messages[m].put).bit) fault(put, "sets a bit that was set before");
        result_.messages.push_back({put, arrive, p.bytes, previous, none});
        if (previous != none) result_.messages[previous].next = index;
        result_.message_of[static_cast<std::size_t>(put.rank)][put.step] = index;
        result_.message_of[static_cast<std::size_t>(arrive.rank)][arrive.step] = index;
        return index;
    }

    void check_gets() {
        // For each rank and each reader that its offers name: whether it has read.
        std::vector<std::vector<char>> read(size_);
        for (std::size_t r = 0; r < size_; ++r) read[r].assign(schedules_[r].readers.size(), 0);
        for_each_step([&](const StepPlace& p, const Step& s) {
            if (s.kind != StepKind::get) return;
            const auto peer = static_cast<std::size_t>(s.peer);
            const auto& offers = result_.offers[peer];
            if (s.offer < 0 || static_cast<std::size_t>(s.offer) >= offers.size()) {
                fault(p, "names an offer that rank " + std::to_string(s.peer) + " does not make");
                return;
            }
            const StepPlace& where = offers[static_cast<std::size_t>(s.offer)];
            const Step& offer = step(where);
            const bool inside = s.from.buffer == offer.from.buffer &&
                                s.from.offset >= offer.from.offset &&
                                s.from.offset + s.bytes <= offer.from.offset + offer.bytes;
            if (!inside && s.bytes > 0)
                fault(p, "reads outside of the offer: " + place(where.rank, where.round) + ": " +
                             describe(offer));
            const auto readers = schedules_[peer].readers_of(offer);
            const auto found = std::find(readers.begin(), readers.end(), p.rank);
            if (found == readers.end())
                fault(p, "is not among the readers of " + place(where.rank, where.round) + ": " +
                             describe(offer));
            else
                read[peer][offer.first_reader + static_cast<std::size_t>(found - readers.begin())] = 1;
        });
        for (const auto& offers : result_.offers)
            for (const StepPlace& where : offers) {
                const Step& offer = step(where);
                const auto& schedule = schedules_[static_cast<std::size_t>(where.rank)];
                for (std::uint32_t i = 0; i < offer.readers; ++i)
                    if (!read[static_cast<std::size_t>(where.rank)][offer.first_reader + i])
                        fault(where, "is left over: its reader rank " +
                                         std::to_string(schedule.readers_of(offer)[i]) +
                                         " never gets it, or is named twice");
            }
    }

    std::span<const Schedule> schedules_;
    std::size_t size_;
    Matching result_;
};

}  // namespace

Matching match(std::span<const Schedule> schedules) { return Matcher(schedules).run(); }

Matching match_or_throw(std::span<const Schedule> schedules) {
    Matching result = match(schedules);
    if (!result.faults.empty())
        throw std::invalid_argument("these schedules do not belong together: " + result.faults[0]);
    return result;
}

}  // namespace fanlight
