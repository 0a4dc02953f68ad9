#include "execute/plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "execute/staging.h"

namespace fanlight {

namespace {

class Binder {
public:
    // goes_on: of each step whether it is a part that others follow; null: none is.
    Binder(const Schedule& schedule, int rank, std::uint64_t called, const SharedSlots& slots, const BindOptions& options, BoundSchedule& bound,
           const Exchange* exchange, const std::vector<bool>* goes_on = nullptr)
        : bound_(bound), schedule_(schedule), exchange_(exchange), goes_on_(goes_on), rank_(rank), local_rank_(options.reach.local(rank)),
          called_(called), shared_slots_(slots), options_(options), reach_(options.reach), staging_(schedule, rank, slots, options),
          depth_(static_cast<std::size_t>(slots.depth())) {
        const std::size_t room = slots.areas() * slots.staging_bytes();
        if (staging_.total() > room)
            throw std::logic_error("a schedule that stages " + std::to_string(staging_.total()) +
                                   " bytes at once; there is room for " +
                                   std::to_string(room));
        for (const Step& s : schedule.steps)
            if (s.kind == StepKind::arrive && !s.bit && near(s)) ++arrives_total_[s.peer];
    }

    void bind() {
        bound_.steps.clear();
        bound_.messages.clear();
        bound_.readers.clear();
        if (!exchange_) bound_.readers = schedule_.readers;
        bound_.has_direct_offers = bound_.may_lend_scratch = bound_.results_are_read = bound_.reuses_cells = bound_.has_long_results = false;
        bound_.scratch_bytes = schedule_.scratch_bytes;
        bound_.staged = staging_.total();
        bound_.stages_at_reader = options_.stage_at_reader;
        bound_.readers_copy = options_.readers_copy;
        bound_.steps.reserve(schedule_.steps.size());
        if (exchange_) mark(BoundKind::begin, 0);
        for (std::size_t r = 0; r < schedule_.rounds(); ++r) {
            const auto round = schedule_.round(r);
            // Within a round whatever lets others go on comes first.
            if (exchange_) from_and_to_afar(round);
            posts(round);
            for (const Step& s : round)
                if (s.kind == StepKind::offer) offer(s);
            for (const auto& [wave, step] : in_waves(round)) {
                if (step->kind == StepKind::put) put(*step);
                else add(*step);
            }
            settles();
            if (exchange_) end_round(r);
        }
        if (exchange_) mark(BoundKind::end, exchange_->epochs);
        bound_.ahead = 0;
        for (const BoundStep& s : bound_.steps) {
            if (s.kind != BoundKind::begin && s.kind != BoundKind::receive && s.kind != BoundKind::send) break;
            ++bound_.ahead;
        }
    }

private:
    bool near(const Step& s) const { return !exchange_ || s.peer < 0 || reach_.near(rank_, s.peer); }

    void mark(BoundKind kind, std::uint32_t epochs) {
        BoundStep b{};
        b.kind = kind;
        b.peer = -1;
        b.message = epochs;
        bound_.steps.push_back(b);
    }

    BoundStep& transfer(BoundKind kind, const Step& s, const RemoteMessage& message) {
        BoundStep& b = next(kind, s);
        b.message = static_cast<std::uint32_t>(bound_.messages.size());
        b.peer = message.peer;
        b.bytes = message.bytes;
        bound_.messages.push_back(message);
        afar_ = true;
        return b;
    }

    // What is to be combined comes to scratch memory of its own first.
    void from_and_to_afar(std::span<const Step> round) {
        std::size_t room = whole_lines(schedule_.scratch_bytes);
        for (const Step& s : round) {
            if ((s.kind != StepKind::arrive && s.kind != StepKind::get) || near(s)) continue;
            BoundStep& b = transfer(BoundKind::receive, s, exchange_->receives[received_++]);
            if (s.order == Order::overwrite) continue;
            combined_.push_back(b);
            combined_.back().kind = BoundKind::combine;
            combined_.back().from_buffer = b.to_buffer = Buffer::scratch;
            combined_.back().from = b.to = room;
            b.order = Order::overwrite;
            room += whole_lines(s.bytes);
            bound_.scratch_bytes = std::max(bound_.scratch_bytes, room);
        }
        for (; sent_ < exchange_->sends.size(); ++sent_) {
            const Exchange::Send& sent = exchange_->sends[sent_];
            const Step& s = schedule_.steps[sent.step];
            if (&s >= round.data() + round.size()) break;
            BoundStep& b = transfer(BoundKind::send, s, sent.message);
            b.from_buffer = sent.from.buffer;
            b.from = sent.from.offset;
        }
    }

    void end_round(std::size_t round) {
        const std::vector<std::uint32_t>& epochs = exchange_->round_epochs;
        if (std::exchange(afar_, false) || !epochs.empty()) mark(BoundKind::end_round, epochs.empty() ? 0 : epochs[round]);
        bound_.steps.insert(bound_.steps.end(), combined_.begin(), combined_.end());
        combined_.clear();
    }

    BoundStep& next(BoundKind kind, const Step& s) {
        BoundStep b{};
        b.kind = kind;
        b.order = s.order;
        b.from_buffer = s.from.buffer;
        b.to_buffer = s.to.buffer;
        b.fused = Order::overwrite;
        b.peer = exchange_ && s.peer >= 0 && near(s) ? reach_.local(s.peer) : s.peer;
        b.from = s.from.offset;
        b.to = s.to.offset;
        b.bytes = s.bytes;
        return bound_.steps.emplace_back(b);
    }

    // All but the offers: first the puts.  But one whose cell is that of a put before it waits until
    // that one was taken: as many as there are cells at first, and then one for each that arrives.
    const std::vector<std::pair<std::size_t, const Step*>>& in_waves(std::span<const Step> round) {
        Counter puts, arrives;
        wave_.clear();
        for (const Step& s : round) {
            if (s.kind != StepKind::put || !near(s)) continue;
            const std::size_t n = s.bit ? 0 : puts[s.peer]++;
            wave_.emplace_back(n < depth_ ? 0 : 3 * (n - depth_ + 1), &s);
        }
        for (const Step& s : round) {
            if (s.kind == StepKind::put || s.kind == StepKind::offer || !near(s)) continue;
            wave_.emplace_back(s.kind == StepKind::arrive && !s.bit ? 3 * arrives[s.peer]++ + 2 : 1, &s);
        }
        if (puts.most() > depth_ || arrives.most() > depth_)
            std::stable_sort(wave_.begin(), wave_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return wave_;
    }

    Place place(const Step& s) const {
        return goes_on_ && (*goes_on_)[static_cast<std::size_t>(&s - schedule_.steps.data())] ? Place::part : place_of(s.bytes, options_);
    }

    bool lendable(const BoundStep& b) const { return b.place != Place::inlined && b.bytes >= options_.lent_from; }

    template <class Number>
    void number(BoundStep& b, Number n) const {
        b.message = static_cast<std::uint32_t>(n);
        b.tag = message_tag(b.message, called_);
    }

    // As many as there is room for at first, and then one for each that arrives.
    void posts(std::span<const Step> round) {
        if (!options_.single_copy) return;
        Counter seen;
        for (const Step& s : round)
            if (s.kind == StepKind::arrive && !s.bit && near(s)) {
                const std::size_t j = arrives_[s.peer] + seen[s.peer]++;
                if (place_of(s.bytes, options_) == Place::direct) unposted_.emplace_back(&s, j);
            }
        post_what_has_room();
    }
    void post_what_has_room() {
        std::erase_if(unposted_, [this](const auto& awaited) {
            const auto& [step, j] = awaited;
            if (j >= arrives_[step->peer] + shared_slots_.posts()) return false;
            BoundStep& b = next(BoundKind::post, *step);
            number(b, j);
            b.place = Place::direct;
            b.lendable = lendable(b);
            return true;
        });
    }

    void offer(const Step& s) {
        if (!is_read_near(schedule_, rank_, s, reach_)) return;
        if (s.offer >= SharedSlots::offers_per_operation)
            throw std::logic_error("a schedule with " + std::to_string(schedule_.offers) +
                                   " offers; the shared transport has cells for " +
                                   std::to_string(SharedSlots::offers_per_operation));
        BoundStep& b = next(BoundKind::offer, s);
        number(b, s.offer);
        b.place = place_of(s.bytes, options_);
        b.staging = staging_.offer(s.offer);
        b.first_reader = s.first_reader;
        b.readers = s.readers;
        if (exchange_) {
            b.first_reader = static_cast<std::uint32_t>(bound_.readers.size());
            for (const int reader : schedule_.readers_of(s))
                if (reach_.near(rank_, reader)) bound_.readers.push_back(reach_.local(reader));
            b.readers = static_cast<std::uint32_t>(bound_.readers.size()) - b.first_reader;
        }
        b.lendable = options_.lends_offers && lendable(b) && (options_.lends_sums || !is_a_sum(b));
        bound_.has_direct_offers |= b.place == Place::direct;
        const bool read = b.place == Place::direct || b.lendable;
        bound_.may_lend_scratch |= read && b.from_buffer == Buffer::scratch;
        bound_.results_are_read |= read && b.from_buffer != Buffer::input;
    }

    // A sum was just made, and is still in this core's cache.  If peers read it in place their caches would hold its lines, and the
    // next call's stores would have to take them back.
    bool is_a_sum(const BoundStep& offer) const {
        if (bound_.steps.size() < 2 || offer.place != Place::staged) return false;
        const BoundStep& made = *(bound_.steps.end() - 2);
        const bool combines = made.kind == BoundKind::combine || (made.kind == BoundKind::get && (made.order != Order::overwrite || made.fused != Order::overwrite));
        return combines && made.to_buffer == offer.from_buffer && made.to == offer.from && made.bytes == offer.bytes;
    }

    void bit(BoundKind kind, const Step& s) {
        BoundStep& b = next(kind, s);
        b.message = static_cast<std::uint32_t>(kind == BoundKind::set_bit ? local_rank_ : b.peer);
    }

    void put(const Step& s) {
        if (s.bit) return bit(BoundKind::set_bit, s);
        const std::size_t j = puts_[s.peer]++;
        // The slot's next operation has a number that is larger by the slots.
        if (j >= shared_slots_.slots() << message_bits) throw std::logic_error("more puts to one rank than can be counted");
        BoundStep& b = next(BoundKind::put, s);
        number(b, j);
        b.place = place(s);
        b.staging = staging_.next_put(s.peer);
        b.acknowledged = j >= depth_;  // must wait for the cell
        bound_.reuses_cells |= b.acknowledged;
        b.lendable = lendable(b);
        if (b.place != Place::direct && !b.lendable) return;
        long_puts_.push_back(b);
        bound_.results_are_read |= b.from_buffer != Buffer::input;
    }

    // A long put's source may be changed again as soon as its round has ended.
    void settles() {
        for (BoundStep b : long_puts_) {
            b.kind = BoundKind::settle;
            bound_.steps.push_back(b);
        }
        long_puts_.clear();
    }

    void add(const Step& s) {
        switch (s.kind) {
            case StepKind::arrive: {
                if (s.bit) return bit(BoundKind::await_bit, s);
                const std::size_t j = arrives_[s.peer]++;
                BoundStep& b = next(BoundKind::arrive, s);
                number(b, j);
                b.place = place(s);
                b.acknowledged = arrives_total_[s.peer] > depth_ || b.place == Place::direct;
                b.lendable = lendable(b);
                if (!unposted_.empty()) post_what_has_room();
                break;
            }
            case StepKind::get: {
                BoundStep& b = next(BoundKind::get, s);
                number(b, s.offer);
                b.lendable = s.bytes >= options_.lent_from;
                break;
            }
            case StepKind::combine:
                if (fuses(s)) break;
                next(BoundKind::combine, s);
                break;
            default:
                next(BoundKind::copy, s);
        }
    }

    // A get that overwrites X and the combine of Y into that same X after it are one pass.
    bool fuses(const Step& s) {
        if (bound_.steps.empty()) return false;
        BoundStep& get = bound_.steps.back();
        if (get.kind != BoundKind::get || get.order != Order::overwrite || get.fused != Order::overwrite ||
            get.bytes == 0 || get.bytes != s.bytes || get.to_buffer != s.to.buffer || get.to != s.to.offset)
            return false;
        get.fused = s.order;
        get.operand_buffer = s.from.buffer;
        get.operand = s.from.offset;
        return true;
    }

    BoundSchedule& bound_;
    const Schedule& schedule_;
    const Exchange* const exchange_;
    const std::vector<bool>* const goes_on_;
    const int rank_, local_rank_;  // the schedule's, the group's
    const std::uint64_t called_;
    const SharedSlots& shared_slots_;
    const BindOptions& options_;
    const Reach& reach_;
    Staging staging_;
    const std::size_t depth_;
    Counter puts_, arrives_, arrives_total_;
    std::vector<BoundStep> long_puts_;  // of the current round
    std::vector<std::pair<const Step*, std::size_t>> unposted_;  // long ones that it awaits, and their numbers
    std::vector<BoundStep> combined_;   // what came from afar in it
    bool afar_ = false;                 // whether anything in it goes or comes there
    std::size_t received_ = 0, sent_ = 0;
    std::vector<std::pair<std::size_t, const Step*>> wave_;  // its steps, and when they begin
};

// With each put that is staged, and its arrive, in pieces.  All but the last say that they go on, so
// that two ends which do not mean the same length do not wait for each other.  `at`: where each step is then.
Schedule in_pieces(const Schedule& schedule, int rank, const BindOptions& options, std::vector<bool>& goes_on, std::vector<std::uint32_t>& at) {
    Schedule cut = schedule;
    cut.steps.clear();
    cut.round_ends.clear();
    for (std::size_t r = 0; r < schedule.rounds(); ++r) {
        for (Step s : schedule.round(r)) {
            at.push_back(static_cast<std::uint32_t>(cut.steps.size()));
            const bool is_put = (s.kind == StepKind::put || s.kind == StepKind::arrive) && options.reach.near(rank, s.peer);
            if (is_put && place_of(s.bytes, options) == Place::staged)
                for (; s.bytes > options.piece; s.bytes -= options.piece) {
                    Step& piece = cut.steps.emplace_back(s);
                    piece.bytes = options.piece;
                    goes_on.push_back(place_of(piece.bytes, options) == Place::staged);
                    s.from.offset += options.piece;
                    s.to.offset += options.piece;
                }
            cut.steps.push_back(s);
            goes_on.push_back(false);
        }
        cut.end_round();
    }
    return cut;
}

}  // namespace

void bind(const Schedule& schedule, int rank, std::uint64_t called, std::size_t element, const SharedSlots& slots,
          const BindOptions& options, BoundSchedule& bound, const Exchange* exchange) {
    if (options.piece) {
        std::vector<bool> goes_on;
        std::vector<std::uint32_t> at;
        const Schedule cut = in_pieces(schedule, rank, options, goes_on, at);
        Exchange moved = exchange ? *exchange : Exchange{};
        for (Exchange::Send& sent : moved.sends) sent.step = at[sent.step];
        Binder(cut, rank, called, slots, options, bound, exchange ? &moved : nullptr, &goes_on).bind();
    } else {
        Binder(schedule, rank, called, slots, options, bound, exchange).bind();
    }
    bound.element = element;
    connect(bound, options.reach.local(rank), slots);
    gather_flags(bound);
    find_told(bound);
}

}  // namespace fanlight
