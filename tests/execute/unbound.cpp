#include "unbound.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace fanlight::testing {

namespace {

// What an offer of no bytes says: message j of that writer is posted, was taken, or is one that this rank is
// ready to receive.  An offer of the schedule: its number, of no writer; one that is sent: the message, its reader.
enum class Signal { offer, posted, taken, ready, sent };
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
    Translation(std::span<const BoundSchedule* const> bound, std::span<const SharedSlots* const> slots, const Reach& reach, bool lent)
        : shared_slots_(slots), reach_(reach), lent_(lent), offers_(bound.size()) {
        result_.schedules.resize(bound.size());
        for (const BoundSchedule* b : bound) bound_.push_back(with_names(*b, static_cast<int>(bound_.size())));
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
    const BoundSchedule& of(int rank) const { return bound_[static_cast<std::size_t>(rank)]; }
    const SharedSlots& slots(int rank) const { return *shared_slots_[static_cast<std::size_t>(rank)]; }
    std::size_t depth(int rank) const { return static_cast<std::size_t>(slots(rank).depth()); }
    static bool is_far(const BoundStep& s) { return s.kind >= BoundKind::begin; }
    // A put whose source is read until it has settled, its arrive, or its settle.
    bool is_long(const BoundStep& s) const { return s.place == Place::direct || (lent_ && s.lendable); }

    // Its peers by their numbers among all.
    BoundSchedule with_names(BoundSchedule bound, int rank) const {
        if (!reach_.nodes) return bound;
        const std::span<const int> near = reach_.nodes->members(reach_.nodes->of(rank));
        for (BoundStep& s : bound.steps)
            if (s.peer >= 0 && !is_far(s)) s.peer = near[static_cast<std::size_t>(s.peer)];
        for (int& reader : bound.readers) reader = near[static_cast<std::size_t>(reader)];
        return bound;
    }
    Schedule& schedule(int rank) { return result_.schedules[static_cast<std::size_t>(rank)]; }
    void fault(int rank, const std::string& text) { result_.faults.push_back("rank " + std::to_string(rank) + ": " + text); }

    void find_awaited(int r) {
        for (const BoundStep& s : of(r).steps) {
            if (s.kind == BoundKind::put && s.acknowledged) awaited_.insert({s.peer, r, s.message - depth(r)});
            if (s.kind == BoundKind::settle && is_long(s)) awaited_.insert({s.peer, r, s.message});
        }
    }
    bool is_awaited(int reader, const BoundStep& s) const {
        return (s.acknowledged || is_long(s)) && awaited_.contains({reader, s.peer, s.message});
    }

    void number_offers(int r) {
        auto& numbers = offers_[static_cast<std::size_t>(r)];
        const auto number = [&](const Key& key) { numbers.emplace(key, static_cast<int>(numbers.size())); };
        for (const BoundStep& s : of(r).steps) {
            if (s.kind == BoundKind::post) number({Signal::posted, s.peer, s.message});
            if (s.kind == BoundKind::offer) number({Signal::offer, -1, s.message});
            if (s.kind == BoundKind::arrive && is_awaited(r, s)) number({Signal::taken, s.peer, s.message});
            if (s.kind != BoundKind::send && s.kind != BoundKind::receive) continue;
            const RemoteMessage& m = message(r, s);
            if (s.kind == BoundKind::receive) number({Signal::ready, m.peer, m.number});
            else if (m.offered) number({Signal::sent, m.peer, m.number}), sent_from_[{r, m.peer, m.number}] = {s.from_buffer, s.from};
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

    const RemoteMessage& message(int r, const BoundStep& s) const { return of(r).messages[s.message]; }

    void end_round(int r, std::vector<const BoundStep*>& afar) {
        for (const BoundStep* b : afar) {
            const RemoteMessage& m = message(r, *b);
            if (m.bytes != b->bytes || m.peer != b->peer) fault(r, "has a step that is not its message");
            Step s{};
            s.peer = m.peer;
            s.bytes = b->bytes;
            s.to = {b->to_buffer, b->to};
            s.kind = StepKind::arrive;
            if (b->kind == BoundKind::send) {
                if (!m.offered) get(r, m.peer, {}, {Signal::ready, r, m.number});
            } else if (m.offered) {
                s.from = sent_from_[{m.peer, r, m.number}];
                get(r, m.peer, s, {Signal::sent, r, m.number});
            } else {
                // Not before it was ready for it: check_long_puts() sees to that.
                const Address incoming = scratch(schedule(r).scratch_bytes);
                schedule(r).scratch_bytes += b->bytes;
                Step copy = s;
                copy.kind = StepKind::copy;
                copy.peer = -1;
                copy.from = incoming;
                s.to = incoming;
                add(r, s);
                if (b->bytes > 0) add(r, copy);
            }
        }
        afar.clear();
    }

    void translate(int r) {
        std::vector<const BoundStep*> afar;  // of this round
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
                case BoundKind::settle:
                    if (is_long(b)) get(r, b.peer, {}, {Signal::taken, r, b.message});
                    break;
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
                    if (b.acknowledged) get(r, b.peer, {}, {Signal::taken, r, b.message - depth(r)});
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
                    break;
                case BoundKind::begin:
                case BoundKind::gather: break;
                case BoundKind::receive:
                    afar.push_back(&b);
                    offer(r, {}, {Signal::ready, b.peer, message(r, b).number}, peer);
                    break;
                case BoundKind::send:
                    afar.push_back(&b);
                    s.order = Order::overwrite;
                    s.kind = StepKind::put;
                    s.to = unknown();
                    if (message(r, b).offered) offer(r, s, {Signal::sent, b.peer, message(r, b).number}, peer);
                    else add(r, s);
                    break;
                case BoundKind::end_round: end_round(r, afar); break;
                case BoundKind::end:
                    for (const BoundStep& sent : of(r).steps)
                        if (sent.kind == BoundKind::send && message(r, sent).offered)
                            get(r, sent.peer, {}, {Signal::ready, r, message(r, sent).number});
            }
        }
        if (!afar.empty()) fault(r, "does not wait for the end of a round");
    }

    // The n-th put and the n-th arrive: in one cell, by one name.
    void compare_cells(int writer, int reader) {
        if (!reach_.near(writer, reader)) return;
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
            const auto expected = bit ? static_cast<std::size_t>(reach_.local(writer)) : number++;
            if (p.cell != a.cell || p.message != expected || a.message != expected || p.tag != a.tag || (!bit && p.place != a.place))
                fault(reader, "awaits message " + std::to_string(i) + " of rank " + std::to_string(writer) + " where that does not put it");
            if (p.lendable && !a.lendable) fault(reader, "does not expect that message " + std::to_string(i) + " of rank " + std::to_string(writer) + " is lent");
            if (!bit && p.cell != slots(writer).put_cell(reach_.local(writer), reach_.local(reader), p.message)) fault(writer, "puts into another's cell");
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
        if (own > 0 && of(owner).staged == 0) fault(owner, "stages and does not say so");
        const std::size_t room = slots(owner).staging_bytes() * (of(owner).in_many_areas ? slots(owner).areas() : 1);
        if (of(owner).staged > room) fault(owner, "stages more than it has areas for");
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Staged& a = all[i];
            if (a.end > room) fault(owner, "stages behind the end of its area");
            for (std::size_t j = i + 1; j < all.size(); ++j) {
                const Staged& b = all[j];
                if (a.begin >= b.end || b.begin >= a.end) continue;
                const bool later = a.reader >= 0 && a.reader == b.reader && a.writer == b.writer && b.step->acknowledged &&
                                   b.step->message >= a.step->message + depth(owner);
                if (!later) fault(owner, "stages two messages in one place");
            }
        }
        if (of(owner).in_many_areas != of(0).in_many_areas) fault(owner, "does not agree with rank 0 whether a rank stages in many areas");
    }

    // Its source is read until it has settled, its target may be written as soon as it is posted.
    void check_long_puts(int r) {
        std::map<std::pair<int, std::size_t>, Range> sources, targets;
        std::vector<Range> sources_afar, targets_afar;
        for (const BoundStep& s : of(r).steps) {
            const std::pair message(s.peer, static_cast<std::size_t>(s.message));
            if (s.kind == BoundKind::settle) sources.erase(message);
            if (s.kind == BoundKind::end_round) sources_afar.clear(), targets_afar.clear();
            for (const Range& range : sources_afar)
                if (writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) fault(r, "changes what is sent");
            for (const Range& range : targets_afar)
                if ((writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) || ((reads(s) || s.kind == BoundKind::send) && range.meets(s.from_buffer, s.from, s.bytes)))
                    fault(r, "touches what is received");
            if (s.kind == BoundKind::send && !this->message(r, s).offered) sources_afar.push_back({s.from_buffer, s.from, s.from + s.bytes});
            if (s.kind == BoundKind::receive) {
                const Range target{s.to_buffer, s.to, s.to + s.bytes};
                for (const auto* ranges : {&sources_afar, &targets_afar})
                    for (const Range& range : *ranges)
                        if (range.meets(s.to_buffer, s.to, s.bytes)) fault(r, "receives two messages in one place, or where it sends from");
                targets_afar.push_back(target);
                if (s.order != Order::overwrite) fault(r, "combines what has not come yet");
            }
            if (s.kind == BoundKind::arrive) targets.erase(message);
            for (const auto& [m, range] : sources)
                if (writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) fault(r, "changes the source of a long put on its way");
            for (const auto& [m, range] : targets)
                if ((writes(s) && range.meets(s.to_buffer, s.to, s.bytes)) || (reads(s) && range.meets(s.from_buffer, s.from, s.bytes)))
                    fault(r, "touches the target of a long put on its way");
            if (s.kind == BoundKind::put && is_long(s)) sources[message] = {s.from_buffer, s.from, s.from + s.bytes};
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
            if (s.kind == BoundKind::offer && is_long(s) && s.from_buffer == Buffer::scratch && !bound.may_lend_scratch)
                fault(r, "offers its scratch memory and does not say so");
            if (s.kind == BoundKind::settle && !is_long(s)) continue;
            const bool tells = s.kind != BoundKind::gather && s.kind != BoundKind::get && s.kind != BoundKind::await_bit && s.kind != BoundKind::copy &&
                               s.kind != BoundKind::combine && (s.kind != BoundKind::arrive || is_awaited(r, s));
            waits |= s.kind == BoundKind::get || s.kind == BoundKind::arrive || s.kind == BoundKind::await_bit || s.kind == BoundKind::settle ||
                     (s.kind == BoundKind::put && (s.acknowledged || s.place == Place::direct));
            late |= waits && tells;
            if (!lent_ && tells && static_cast<std::size_t>(&s - bound.steps.data()) >= bound.sends_end) fault(r, "tells others something after it has told all");
        }
        if (direct && !bound.has_direct_offers) fault(r, "offers its own memory and does not say so");
        // Of a plan that may lend nobody asks (Plan::sends_complete_first).
        if (!lent_ && late && bound.sends_complete_first) fault(r, "waits before it has told all");
    }

    std::vector<BoundSchedule> bound_;
    const std::span<const SharedSlots* const> shared_slots_;
    const Reach& reach_;
    const bool lent_;
    std::map<std::tuple<int, int, std::size_t>, Address> sent_from_;  // owner, reader, message
    std::set<std::tuple<int, int, std::size_t>> awaited_;  // reader, writer, message
    std::vector<std::map<Key, int>> offers_;               // of each rank: their numbers
    Unbound result_;
};

}  // namespace

Unbound unbound(std::span<const BoundSchedule* const> bound, std::span<const SharedSlots* const> slots, const Reach& reach, bool lent) {
    return Translation(bound, slots, reach, lent).run();
}

}  // namespace fanlight::testing
