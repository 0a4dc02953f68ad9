#include "schedule/races.h"

#include <algorithm>

#include "schedule/describe.h"

namespace fanlight::symbolic {
namespace {

enum class Span : std::uint8_t { round, put_to_arrive, offer_to_end };

struct Access {
    std::size_t begin;
    std::size_t end;
    std::uint32_t step;   // of the rank whose buffer it is: a put's target counts as its arrive
    std::uint32_t round;  // the round of that step
    Span span;
    bool writes;
    StepPlace put;  // for put_to_arrive
};

class RankRaces {
public:
    RankRaces(std::span<const Schedule> schedules, const Matching& matching, const Clocks& clocks,
              int rank)
        : schedule_(schedules[static_cast<std::size_t>(rank)]),
          matching_(matching),
          clocks_(clocks),
          rank_(rank) {}

    void find(std::vector<std::string>& faults, std::size_t most) {
        collect();
        for (auto* accesses : {&output_, &scratch_}) sweep(*accesses, faults, most);
    }

private:
    void note(Address at, std::size_t bytes, Access access) {
        if (bytes == 0 || at.buffer == Buffer::input) return;
        access.begin = at.offset;
        access.end = at.offset + bytes;
        (at.buffer == Buffer::output ? output_ : scratch_).push_back(access);
    }

    void collect() {
        std::uint32_t i = 0;
        for (std::uint32_t round = 0; round < schedule_.rounds(); ++round)
            for (; i < schedule_.round_ends[round]; ++i) {
                const Step& s = schedule_.steps[i];
                const Access read{0, 0, i, round, Span::round, false, {}};
                const Access write{0, 0, i, round, Span::round, true, {}};
                switch (s.kind) {
                    case StepKind::put:
                        note(s.from, s.bytes, read);
                        break;
                    case StepKind::arrive: {
                        Access target = write;
                        if (s.order == Order::overwrite) {
                            const auto r = static_cast<std::size_t>(rank_);
                            target.span = Span::put_to_arrive;
                            target.put = matching_.messages[matching_.message_of[r][i]].put;
                        }
                        note(s.to, s.bytes, target);
                        break;
                    }
                    case StepKind::offer: {
                        Access offered = read;
                        offered.span = Span::offer_to_end;
                        note(s.from, s.bytes, offered);
                        break;
                    }
                    case StepKind::get:
                        note(s.to, s.bytes, write);
                        break;
                    case StepKind::copy:
                    case StepKind::combine:
                        note(s.from, s.bytes, read);
                        note(s.to, s.bytes, write);
                        break;
                }
            }
    }

    // Whether a is over before b begins.
    bool before(const Access& a, const Access& b) const {
        if (a.span == Span::offer_to_end) return false;
        if (b.span == Span::put_to_arrive) return clocks_.over(rank_, a.round, b.put.rank, b.put.round);
        return a.round < b.round;
    }

    void sweep(std::vector<Access>& accesses, std::vector<std::string>& faults, std::size_t most) {
        std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.step < b.step;
        });
        for (std::size_t i = 0; i < accesses.size(); ++i) {
            const Access& a = accesses[i];
            for (std::size_t j = i + 1; j < accesses.size() && accesses[j].begin < a.end; ++j) {
                const Access& b = accesses[j];
                if (!a.writes && !b.writes) continue;
                if (before(a, b) || before(b, a)) continue;
                if (faults.size() >= most) return;
                faults.push_back(a.step <= b.step ? text(a, b) : text(b, a));
            }
        }
    }

    std::string text(const Access& a, const Access& b) const {
        const Step& x = schedule_.steps[a.step];
        const Step& y = schedule_.steps[b.step];
        const std::string range = "[" + std::to_string(std::max(a.begin, b.begin)) + "," +
                                  std::to_string(std::min(a.end, b.end)) + ")";
        if (a.step == b.step)
            return place(rank_, a.round) + ": " + describe(x) + " reads and writes the same bytes";
        std::string result;
        if (a.span == Span::offer_to_end || b.span == Span::offer_to_end) {
            const Access& offer = a.span == Span::offer_to_end ? a : b;
            const Access& other = a.span == Span::offer_to_end ? b : a;
            result = place(rank_, other.round) + ": " + describe(schedule_.steps[other.step]) +
                     " may write bytes " + range + " that are offered since round " +
                     std::to_string(offer.round) + ": " + describe(schedule_.steps[offer.step]);
        } else {
            result = place(rank_, a.round) + ": " + describe(x) + " and " +
                     (a.round == b.round ? "in the same round "
                                         : "in round " + std::to_string(b.round) + " ") +
                     describe(y) + " may touch bytes " + range + " at the same time";
        }
        const Access& writer = b.writes ? b : a;
        if (writer.span == Span::put_to_arrive)
            result += "; rank " + std::to_string(writer.put.rank) + " puts them in its round " +
                      std::to_string(writer.put.round) + ", which does not wait for this";
        return result;
    }

    const Schedule& schedule_;
    const Matching& matching_;
    const Clocks& clocks_;
    int rank_;
    std::vector<Access> output_;
    std::vector<Access> scratch_;
};

}  // namespace

void find_races(std::span<const Schedule> schedules, const Matching& matching, const Clocks& clocks,
                std::vector<std::string>& faults, std::size_t most) {
    for (int r = 0; r < static_cast<int>(schedules.size()); ++r) {
        if (faults.size() >= most) return;
        RankRaces(schedules, matching, clocks, r).find(faults, most);
    }
}

}  // namespace fanlight::symbolic
