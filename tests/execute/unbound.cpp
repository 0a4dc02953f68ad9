#include "unbound.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace fanlight::testing {

namespace {

// What an offer of no bytes says: message j of that writer is posted, or was taken.  An offer of the
// schedule: its number, of no writer.
enum class Signal { offer, posted, taken };
using Key = std::tuple<Signal, int, std::size_t>;

struct Range {
    Buffer buffer;
    std::size_t begin, end;
    bool meets(Buffer b, std::size_t at, std::size_t bytes) const {
        return b == buffer && bytes > 0 && begin < end && at < end && begin < at + bytes;
    }
};

bool writes(const BoundStep& s) {
    return s.kind == BoundKind::arrive || s.kind == BoundKind::get || s.kind == BoundKind::copy || s.kind == BoundKind::combine;
}
bool reads(const BoundStep& s) {
    return s.kind == BoundKind::put || s.kind == BoundKind::offer || s.kind == BoundKind::copy || s.kind == BoundKind::combine;
}

class Translation {
public:
    Translation(std::span<const BoundSchedule* const> bound, const SharedLanes& lanes)
        : bound_(bound), lanes_(lanes), depth_(static_cast<std::size_t>(lanes.depth())), offers_(bound.size()) {
        result_.schedules.resize(bound.size());
    }

    Unbound run() {
        for (int r = 0; r < size(); ++r) find_awaited(r);
        for (int r = 0; r < size(); ++r) number_offers(r);
        for (int r = 0; r < size(); ++r) translate(r);
        for (int w = 0; w < size(); ++w)
            for (int r = 0; r < size(); ++r) compare_cells(w, r);
        for (int r = 0; r < size(); ++r) check_staging(r);
        for (int r = 0; r < size(); ++r) check_long_puts(r);
        for (int r = 0; r < size(); ++r) check_what_it_says(r);
        return std::move(result_);
    }

private:
    int size() const { return static_cast<int>(bound_.size()); }
    const BoundSchedule& of(int rank) const { return *bound_[static_cast<std::size_t>(rank)]; }
    Schedule& schedule(int rank) { return result_.schedules[static_cast<std::size_t>(rank)]; }
    void fault(int rank, const std::string& text) { result_.faults.push_back("rank " + std::to_string(rank) + ": " + text); }

    void find_awaited(int r) {
        for (const BoundStep& s : of(r).steps) {
            if (s.kind == BoundKind::put && s.acknowledged) awaited_.insert({s.peer, r, s.message - depth_});
            if (s.kind == BoundKind::settle) awaited_.insert({s.peer, r, s.message});
        }
    }
    bool is_awaited(int reader, const BoundStep& s) const { return s.acknowledged && awaited_.contains({reader, s.peer, s.message}); }

    void number_offers(int r) {
        auto& numbers = offers_[static_cast<std::size_t>(r)];
        const auto number = [&](const Key& key) { numbers.emplace(key, static_cast<int>(numbers.size())); };
        for (const BoundStep& s : of(r).steps) {
            if (s.kind == BoundKind::post) number({Signal::posted, s.peer, s.message});
            if (s.kind == BoundKind::offer) number({Signal::offer, -1, s.message});
            if (s.kind == BoundKind::arrive && is_awaited(r, s)) number({Signal::taken, s.peer, s.message});
        }
        schedule(r).offers = static_cast<int>(numbers.size());
    }

    void add(int rank, const Step& s) {
        schedule(rank).steps.push_back(s);
        schedule(rank).round_ends.push_back(static_cast<std::uint32_t>(schedule(rank).steps.size()));
    }
    void offer(int rank, Step s, const Key& key, std::span<const int> readers) {
        s.kind = StepKind::offer;
        s.offer = offers_[static_cast<std::size_t>(rank)].at(key);
        s.first_reader = static_cast<std::uint32_t>(schedule(rank).readers.size());
        s.readers = static_cast<std::uint32_t>(readers.size());
        schedule(rank).readers.insert(schedule(rank).readers.end(), readers.begin(), readers.end());
        add(rank, s);
    }
    void get(int rank, int peer, Step s, const Key& key) {
        const auto& numbers = offers_[static_cast<std::size_t>(peer)];
        const auto found = numbers.find(key);
        if (found == numbers.end()) return fault(rank, "waits for what rank " + std::to_string(peer) + " never says");
        s.kind = StepKind::get;
        s.peer = peer;
        s.offer = found->second;
        add(rank, s);
    }

    void translate(int r) {
        schedule(r).scratch_bytes = of(r).scratch_bytes;
        for (const BoundStep& b : of(r).steps) {
            Step s{};
            s.order = b.order;
            s.peer = b.peer;
            s.from = {b.from_buffer, b.from};
            s.to = {b.to_buffer, b.to};
            s.bytes = b.bytes;
            const int peer[] = {b.peer};
            switch (b.kind) {
                case BoundKind::post: offer(r, {}, {Signal::posted, b.peer, b.message}, peer); break;
                case BoundKind::settle: get(r, b.peer, {}, {Signal::taken, r, b.message}); break;
                case BoundKind::offer:
                    s.order = Order::overwrite;
                    offer(r, s, {Signal::offer, -1, b.message}, std::span(of(r).readers).subspan(b.first_reader, b.readers));
                    break;
                case BoundKind::get: {
                    get(r, b.peer, s, {Signal::offer, -1, b.message});
                    if (b.fused == Order::overwrite) break;
                    Step combine{};
                    combine.kind = StepKind::combine;
                    combine.order = b.fused;
                    combine.from = {b.operand_buffer, b.operand};
                    combine.to = s.to;
                    combine.bytes = s.bytes;
                    add(r, combine);
                    break;
                }
                case BoundKind::put:
                    if (b.acknowledged) get(r, b.peer, {}, {Signal::taken, r, b.message - depth_});
                    if (b.place == Place::direct) get(r, b.peer, {}, {Signal::posted, r, b.message});
                    [[fallthrough]];
                case BoundKind::set_bit:
                    s.kind = StepKind::put;
                    s.bit = b.kind == BoundKind::set_bit;
                    add(r, s);
                    break;
                case BoundKind::arrive:
                case BoundKind::await_bit:
                    s.kind = StepKind::arrive;
                    s.bit = b.kind == BoundKind::await_bit;
                    add(r, s);
                    if (b.kind == BoundKind::arrive && is_awaited(r, b)) offer(r, {}, {Signal::taken, b.peer, b.message}, peer);
                    break;
                case BoundKind::copy:
                case BoundKind::combine:
                    s.kind = b.kind == BoundKind::copy ? StepKind::copy : StepKind::combine;
                    add(r, s);
            }
        }
    }

    // The n-th put and the n-th arrive: in one cell, by one name.
    void compare_cells(int writer, int reader) {
        const auto those = [](const BoundSchedule& schedule, int peer, BoundKind kind, BoundKind bit) {
            std::vector<const BoundStep*> result;
            for (const BoundStep& s : schedule.steps)
                if (s.peer == peer && (s.kind == kind || s.kind == bit)) result.push_back(&s);
            return result;
        };
        const auto puts = those(of(writer), reader, BoundKind::put, BoundKind::set_bit);
        const auto arrives = those(of(reader), writer, BoundKind::arrive, BoundKind::await_bit);
        std::size_t number = 0;
        for (std::size_t i = 0; i < std::min(puts.size(), arrives.size()); ++i) {
            const BoundStep &p = *puts[i], &a = *arrives[i];
            const bool bit = p.kind == BoundKind::set_bit;
            const auto expected = bit ? static_cast<std::size_t>(writer) : number++;
            if (p.cell != a.cell || p.message != expected || a.message != expected || p.name != a.name || (!bit && p.place != a.place))
                fault(reader, "awaits message " + std::to_string(i) + " of rank " + std::to_string(writer) + " where that does not put it");
            if (!bit && p.cell != lanes_.put_cell(writer, reader, p.message)) fault(writer, "puts into another's cell");
        }
    }

    // What a rank has staged stays until it was taken, that of an offer until the end.
    void check_staging(int owner) {
        struct Staged {
            std::size_t begin, end;
            int writer, reader;  // reader -1: an offer
            const BoundStep* step;
        };
        std::vector<Staged> all;
        std::size_t own = 0;
        for (int r = 0; r < size(); ++r)
            for (const BoundStep& s : of(r).steps) {
                const bool put = s.kind == BoundKind::put, offer = s.kind == BoundKind::offer;
                if ((!put && !offer) || s.bytes == 0 || s.place == Place::inlined || s.place == Place::direct) continue;
                if ((put && of(r).stages_at_reader ? s.peer : r) == owner) all.push_back({s.staging, s.staging + s.bytes, r, put ? s.peer : -1, &s});
                own += r == owner;
            }
        if (own > 0 && !of(owner).stages) fault(owner, "stages and does not say so");
        const std::size_t room = lanes_.staging_bytes() * (of(owner).wide ? lanes_.areas() : 1);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Staged& a = all[i];
            if (a.end > room) fault(owner, "stages behind the end of its area");
            for (std::size_t j = i + 1; j < all.size(); ++j) {
                const Staged& b = all[j];
                if (a.begin >= b.end || b.begin >= a.end) continue;
                const bool later = a.reader >= 0 && a.reader == b.reader && a.writer == b.writer && b.step->acknowledged &&
                                   b.step->message >= a.step->message + depth_;
                if (!later) fault(owner, "stages two messages in one place");
            }
        }
        if (of(owner).wide != of(0).wide) fault(owner, "takes another number of staging areas than rank 0");
    }

    // Its source is read until it has settled, its target may be written as soon as it is posted.
    void check_long_puts(int r) {
        std::map<std::pair<int, std::size_t>, Range> sources, targets;
        for (const BoundStep& s : of(r).steps) {
            const std::pair message(s.peer, static_cast<std::size_t>(s.message));
            if (s.kind == BoundKind::settle) sources.erase(message);
            if (s.kind == BoundKind::arrive) targets.erase(message);
            for (const auto& [m, range] : sources)
                if (writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) fault(r, "changes the source of a long put on its way");
            for (const auto& [m, range] : targets)
                if ((writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) || (reads(s) && range.meets(s.from_buffer, s.from, s.bytes)))
                    fault(r, "touches the target of a long put on its way");
            if (s.kind == BoundKind::put && s.place == Place::direct) sources[message] = {s.from_buffer, s.from, s.from + s.bytes};
            if (s.kind == BoundKind::post && s.order == Order::overwrite) targets[message] = {s.to_buffer, s.to, s.to + s.bytes};
        }
        if (!sources.empty()) fault(r, "does not wait for the end of a long put");
        if (!targets.empty()) fault(r, "posts a long put that it does not await");
    }

    // By which the caller may leave an operation whose steps are not all done.
    void check_what_it_says(int r) {
        const BoundSchedule& bound = of(r);
        bool direct = false, waits = false, late = false;
        for (const BoundStep& s : bound.steps) {
            direct |= s.kind == BoundKind::offer && s.place == Place::direct;
            const bool tells = s.kind != BoundKind::get && s.kind != BoundKind::await_bit && s.kind != BoundKind::copy &&
                               s.kind != BoundKind::combine && (s.kind != BoundKind::arrive || is_awaited(r, s));
            waits |= s.kind == BoundKind::get || s.kind == BoundKind::arrive || s.kind == BoundKind::await_bit || s.kind == BoundKind::settle ||
                     (s.kind == BoundKind::put && (s.acknowledged || s.place == Place::direct));
            late |= waits && tells;
            if (tells && static_cast<std::size_t>(&s - bound.steps.data()) >= bound.told) fault(r, "tells others something after it has told all");
        }
        if (direct && !bound.has_direct_offers) fault(r, "offers its own memory and does not say so");
        if (late && bound.tells_first) fault(r, "waits before it has told all");
    }

    std::span<const BoundSchedule* const> bound_;
    const SharedLanes& lanes_;
    const std::size_t depth_;
    std::set<std::tuple<int, int, std::size_t>> awaited_;  // reader, writer, message
    std::vector<std::map<Key, int>> offers_;               // of each rank: their numbers
    Unbound result_;
};

}  // namespace

Unbound unbound(std::span<const BoundSchedule* const> bound, const SharedLanes& lanes) { return Translation(bound, lanes).run(); }

std::vector<Schedule> unbound(std::span<const Exchange> all) {
    std::vector<Schedule> schedules(all.size());
    struct Offer {
        int number;
        Address from;
    };
    std::map<std::tuple<int, int, std::size_t>, Offer> offers;  // owner, reader, message
    const auto number_of = [](int rank, const Transfer& t) { return std::tuple(rank, t.message.peer, static_cast<std::size_t>(t.message.number)); };
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const Transfer& t : all[r].steps)
            if (t.kind == Transfer::Kind::send && t.message.offered)
                offers[number_of(static_cast<int>(r), t)] = {schedules[r].offers++, t.from};
    for (std::size_t r = 0; r < all.size(); ++r) {
        Schedule& schedule = schedules[r];
        schedule.scratch_bytes = all[r].scratch_bytes;
        for (const Exchange::Round& round : all[r].rounds) {
            for (std::size_t i = schedule.steps.size(); i < round.end; ++i) {
                const Transfer& t = all[r].steps[i];
                Step& s = schedule.steps.emplace_back();
                s.order = t.order;
                s.peer = t.message.peer;
                s.from = t.from;
                s.to = t.to;
                s.bytes = t.bytes;
                switch (t.kind) {
                    case Transfer::Kind::copy: s.kind = StepKind::copy; break;
                    case Transfer::Kind::combine: s.kind = StepKind::combine; break;
                    case Transfer::Kind::send:
                        s.kind = t.message.offered ? StepKind::offer : StepKind::put;
                        s.to = unknown();
                        if (!t.message.offered) break;
                        s.offer = offers.at(number_of(static_cast<int>(r), t)).number;
                        s.first_reader = static_cast<std::uint32_t>(schedule.readers.size());
                        s.readers = 1;
                        schedule.readers.push_back(t.message.peer);
                        break;
                    case Transfer::Kind::receive:
                        s.kind = t.message.offered ? StepKind::get : StepKind::arrive;
                        if (!t.message.offered) break;
                        const Offer& offer = offers.at({t.message.peer, static_cast<int>(r), t.message.number});
                        s.offer = offer.number;
                        s.from = offer.from;
                        break;
                }
            }
            schedule.round_ends.push_back(round.end);
        }
    }
    return schedules;
}

}  // namespace fanlight::testing
