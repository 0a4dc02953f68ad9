#include "model/pieces.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>

#include "model/costs.h"
#include "model/states.h"
#include "schedule/matching.h"

namespace fanlight {
namespace {

using namespace model;

// Shorter ones do not wait for bandwidth: their lines fit between the others'.
constexpr std::size_t crowds_nobody = 2048;

class Simulator {
public:
    Simulator(std::span<const Schedule> schedules, const Machine& machine, const Placement& places, const Transfer& transfer, bool spans)
        : schedules_(schedules),
          matching_(match_or_throw(schedules)),
          costs_(schedules, machine, places, transfer),
          transfer_(transfer),
          flows_(costs_.capacities()),
          with_spans_(spans),
          ranks_(schedules.size()),
          words_(schedules.size()),
          messages_(matching_.messages.size()) {
        for (std::size_t r = 0; r < schedules.size(); ++r) {
            offers_.emplace_back(matching_.offers[r].size());
            letter_of_.emplace_back(schedules[r].steps.size(), none);
        }
        for (std::size_t r = 0; r < schedules.size(); ++r)
            for (std::uint32_t i = 0; i < schedules[r].steps.size(); ++i) {
                const Step& s = schedules[r].steps[i];
                if (s.kind == StepKind::offer) offer_of(static_cast<int>(r), s.offer).bytes = s.bytes;
                if (s.kind != StepKind::get) continue;
                if (!costs_.share_node(static_cast<int>(r), s.peer)) letter_of_[r][i] = letter(s.peer, static_cast<int>(r), s.bytes);
                offer(s).gets.push_back({static_cast<int>(r), letter_of_[r][i]});
            }
        for (const Message& m : matching_.messages)
            if (!costs_.share_node(m.put.rank, m.arrive.rank))
                letter_of(m.put) = letter_of(m.arrive) = letter(m.put.rank, m.arrive.rank, m.bytes);
    }

    Simulation run() {
        for (int r = 0; r < static_cast<int>(schedules_.size()); ++r) enter(r, costs_.begin());
        std::vector<std::uint64_t> ended;
        for (;;) {
            const double flow = flows_.next_end();
            if (flow == never && events_.empty()) break;
            if (events_.empty() || flow <= events_.top().time) {
                ended.clear();
                flows_.end(flow, ended);
                for (const std::uint64_t token : ended) {
                    if (token >= first_letter) left(static_cast<std::uint32_t>(token - first_letter), flow);
                    else go(static_cast<int>(token), flow);
                }
                continue;
            }
            const Event e = events_.top();
            events_.pop();
            if (e.token < first_letter) {
                go(static_cast<int>(e.token), e.time);
                continue;
            }
            Letter& l = letters_[e.token - first_letter];
            l.there = e.time;
            wake(l.to, e.time);
            wake(l.from, e.time);
        }
        Simulation result{0, {}, std::move(spans_)};
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            if (ranks_[r].round < schedules_[r].rounds()) throw std::invalid_argument("these schedules deadlock: rank " + std::to_string(r) + " does not end");
            result.finish.push_back(ranks_[r].entered);
        }
        if (!ranks_.empty()) result.seconds = std::ranges::max(result.finish);
        return result;
    }

private:
    Rank& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
    const Schedule& schedule(int r) const { return schedules_[static_cast<std::size_t>(r)]; }
    const Step& step(int r, std::uint32_t i) const { return schedule(r).steps[i]; }
    std::uint32_t& letter_of(const StepPlace& p) { return letter_of_[static_cast<std::size_t>(p.rank)][p.step]; }
    std::uint32_t letter_of(int r, std::uint32_t i) const { return letter_of_[static_cast<std::size_t>(r)][i]; }
    std::uint32_t letter(int from, int to, std::size_t bytes) {
        letters_.push_back({.from = from, .to = to, .bytes = bytes});
        return static_cast<std::uint32_t>(letters_.size() - 1);
    }
    Offer& offer_of(int r, int number) { return offers_[static_cast<std::size_t>(r)][static_cast<std::size_t>(number)]; }
    Offer& offer(const Step& get) { return offer_of(get.peer, get.offer); }
    std::uint32_t message(int r, std::uint32_t i) const { return matching_.message_of[static_cast<std::size_t>(r)][i]; }
    Order order_of(std::uint32_t message) const { const StepPlace& a = matching_.messages[message].arrive; return step(a.rank, a.step).order; }
    bool is_staged(std::size_t bytes) const { return bytes > transfer_.inlined && bytes < transfer_.copied_once; }
    bool is_direct(std::size_t bytes) const { return bytes > transfer_.inlined && !is_staged(bytes); }
    // The writer copies it into place; what is to be combined its reader fetches.
    bool is_written(std::uint32_t message) const { return is_direct(matching_.messages[message].bytes) && order_of(message) == Order::overwrite; }

    void later(double time, std::uint64_t token) { events_.push({time, number_++, token}); }
    void wake(int r, double now) {
        if (rank(r).at != At::blocked) return;
        rank(r).at = At::nothing;
        later(now, static_cast<std::uint64_t>(r));
    }
    // From `begin` on it moves bytes, and goes on behind that.
    void move(int r, double begin, At at, double own, int peer = -1, double theirs = 0, bool direct = false) {
        Rank& me = rank(r);
        const bool short_ones = own + theirs <= crowds_nobody;
        me.at = short_ones ? at : At::move;
        me.then = at;
        me.own = own;
        me.peer = peer;
        me.theirs = theirs;
        me.direct = direct;
        later(begin + (direct ? costs_.call() : 0) + (short_ones ? costs_.alone(own + theirs) : 0), static_cast<std::uint64_t>(r));
    }

    void enter(int r, double now) {
        Rank& me = rank(r);
        me.entered = me.free = now;
        if (me.round >= schedule(r).rounds()) return;
        me.next = me.round == 0 ? 0 : schedule(r).round_ends[me.round - 1];
        for (std::uint32_t i = me.next; i < schedule(r).round_ends[me.round]; ++i) {
            const Step& s = step(r, i);
            if (s.kind != StepKind::arrive && s.kind != StepKind::get) continue;
            me.waits.push_back(i);
            if (letter_of(r, i) != none) {
                letters_[letter_of(r, i)].awaited = true;
                depart(letter_of(r, i), now);
            } else if (s.kind == StepKind::arrive) {
                messages_[message(r, i)].awaited = now;
                wake(s.peer, now);
            }
        }
        later(now, static_cast<std::uint64_t>(r));
    }

    // --- between nodes
    void depart(std::uint32_t number, double now) {
        Letter& l = letters_[number];
        if (!l.sent || l.in_flight || (costs_.waits_for_receiver(l.bytes) && !l.awaited)) return;
        l.in_flight = true;
        flows_.begin(now, costs_.message(l.from, l.to, static_cast<double>(l.bytes)), first_letter + number);
    }
    void left(std::uint32_t number, double now) {
        Letter& l = letters_[number];
        l.left = now;
        wake(l.from, now);
        later(now + costs_.network().latency * (costs_.waits_for_receiver(l.bytes) ? 2 : 1), first_letter + number);
    }
    void send(std::uint32_t number, double now) {
        letters_[number].sent = true;
        depart(number, now);
    }
    // --- a rank goes on
    void go(int r, double now) {
        Rank& me = rank(r);
        const At at = me.at;
        if (at == At::move) {
            me.at = me.then;
            return flows_.begin(now, costs_.bytes(r, me.own, me.peer, me.theirs, me.direct), static_cast<std::uint64_t>(r));
        }
        me.at = At::nothing;
        if (at == At::own) own_over(r, now);
        if (at == At::flag) fetch(r, now);
        if (at == At::bytes) over(r, now);
        if (me.at == At::nothing) next(r, now);
    }

    // The next of the round's own steps; else one of the others that it need not wait for any more.
    void next(int r, double now) {
        Rank& me = rank(r);
        for (; me.next < schedule(r).round_ends[me.round]; ++me.next) {
            const StepKind kind = step(r, me.next).kind;
            if (kind != StepKind::arrive && kind != StepKind::get) return begin_own(r, me.next++, now);
        }
        if (me.waits.empty()) {
            ++me.round;
            return enter(r, now);
        }
        for (std::size_t i = 0; i < me.waits.size(); ++i) {
            const double ready = ready_at(r, me.waits[i]);
            if (ready > now) continue;
            me.begun = me.free;
            me.step = me.waits[i];
            me.ready = ready;
            me.waits.erase(me.waits.begin() + static_cast<std::ptrdiff_t>(i));
            return look(r, now);
        }
        me.goes_on = false;
        me.at = At::blocked;
    }

    void begin_own(int r, std::uint32_t i, double now) {
        Rank& me = rank(r);
        const Step& s = step(r, i);
        const auto bytes = static_cast<double>(s.bytes);
        const bool far = s.kind == StepKind::put && letter_of(r, i) != none;
        me.step = i;
        me.begun = me.ready = now;
        me.at = At::own;
        double end = now + costs_.step();
        switch (s.kind) {
            case StepKind::put:
                if (far) {
                    end += costs_.network().overhead + costs_.lock();
                } else if (s.bit) {
                    Word& word = words_[static_cast<std::size_t>(s.peer)];
                    end = std::max(end, word.free) + (word.holder < 0 ? 0 : costs_.hop(word.holder, r, true));
                    word = {end, r};
                } else if (is_written(message(r, i))) {
                    me.waits.push_back(i);
                    me.at = At::nothing;
                    return next(r, now);
                } else if (is_staged(s.bytes)) {
                    return stage(r, end, s.peer, bytes);
                }
                break;
            case StepKind::offer: {
                int near = -1;
                for (const Reader& g : offer_of(r, s.offer).gets) {
                    if (g.letter == none && near < 0) near = g.rank;
                    if (g.letter != none) end += costs_.network().overhead;
                }
                if (near >= 0 && is_staged(s.bytes)) return stage(r, end, near, bytes);
                break;
            }
            case StepKind::copy:
                if (s.from != s.to && s.bytes > 0) return move(r, now, At::own, 2 * bytes);
                break;
            case StepKind::combine:
                if (s.bytes > 0) return move(r, now, At::own, combined(s.bytes));
                break;
            case StepKind::arrive:
            case StepKind::get: break;
        }
        later(end, static_cast<std::uint64_t>(r));
    }
    // The lines that it writes are in the cache of who has read them last.
    void stage(int r, double begin, int reader, double bytes) { move(r, begin, At::own, bytes, reader, bytes); }
    double combined(std::size_t bytes) const { return static_cast<double>(bytes) * (costs_.combines_in_cache(bytes) ? 1 : 3); }

    void own_over(int r, double now) {
        Rank& me = rank(r);
        const Step& s = step(r, me.step);
        if (s.kind == StepKind::offer) {
            Offer& o = offer_of(r, s.offer);
            o.made = now;
            for (const Reader& g : o.gets) {
                if (g.letter == none) wake(g.rank, now);
                else send(g.letter, now);
            }
        }
        if (s.kind == StepKind::put) {
            if (const std::uint32_t l = letter_of(r, me.step); l != none) {
                send(l, now);
                if (transfer_.locks || costs_.waits_for_receiver(s.bytes)) me.waits.push_back(me.step);
            } else {
                messages_[message(r, me.step)].told = now;
                wake(s.peer, now);
                if (is_direct(s.bytes)) me.waits.push_back(me.step);
            }
        }
        note(r, now);
    }

    double ready_at(int r, std::uint32_t i) {
        const Step& s = step(r, i);
        if (const std::uint32_t l = letter_of(r, i); l != none) return s.kind == StepKind::put && !transfer_.locks ? letters_[l].left : letters_[l].there;
        if (s.kind == StepKind::get) return offer(s).made;
        const State& m = messages_[message(r, i)];
        if (s.kind == StepKind::arrive) return m.told;
        return m.told != never ? m.taken : m.awaited;
    }

    // What it waited for has come to pass: now it must see it.
    void look(int r, double now) {
        Rank& me = rank(r);
        const Step& s = step(r, me.step);
        me.at = At::flag;
        me.beside = me.goes_on && me.ready < now;
        me.goes_on = true;
        if (letter_of(r, me.step) != none) return later(now + (s.kind == StepKind::put ? costs_.unlock() : costs_.network().overhead + costs_.step()), static_cast<std::uint64_t>(r));
        double begin = now;
        if (s.kind == StepKind::get) {
            Offer& o = offer(s);
            begin = std::max(now, o.line_free);
            o.line_free = begin + costs_.reader();
        }
        later(begin + line(me, costs_.hop(s.peer, r, true)) + costs_.step(), static_cast<std::uint64_t>(r));
    }
    double line(const Rank& me, double hop) const { return me.beside ? hop / costs_.gather() : hop; }

    // It has seen it, and fetches the bytes, or brings them where its peer awaits them.
    void fetch(int r, double now) {
        Rank& me = rank(r);
        const Step& s = step(r, me.step);
        const auto bytes = static_cast<double>(s.bytes);
        const double combines = s.order == Order::overwrite ? bytes : combined(s.bytes) - bytes;
        if (letter_of(r, me.step) != none) {
            if (s.kind == StepKind::put || s.order == Order::overwrite || s.bytes == 0) return over(r, now);
            return move(r, now, At::bytes, bytes + combines);
        }
        if (s.kind == StepKind::put) {
            if (messages_[message(r, me.step)].told != never) return over(r, now);
            return move(r, now + costs_.hop(s.peer, r, false), At::bytes, bytes, s.peer, bytes, true);
        }
        // Where it is follows from all that was offered.
        const std::size_t offered = s.kind == StepKind::get ? offer(s).bytes : s.bytes;
        if (offered <= transfer_.inlined || (s.kind == StepKind::arrive && is_written(message(r, me.step)))) return over(r, now);
        double begin = now;
        if (s.kind == StepKind::get) {
            Offer& o = offer(s);
            begin = std::max(now, o.data_free);
            o.data_free = begin + costs_.reader();
        }
        move(r, begin + line(me, costs_.hop(s.peer, r, is_staged(offered))), At::bytes, combines, s.peer, bytes, is_direct(offered));
    }

    void over(int r, double now) {
        const std::uint32_t i = rank(r).step;
        const Step& s = step(r, i);
        if (s.kind != StepKind::get && letter_of(r, i) == none) {
            State& m = messages_[message(r, i)];
            if (s.kind == StepKind::arrive) m.taken = now;
            else if (m.told == never) m.told = now;
            wake(s.peer, now);
        }
        note(r, now);
    }

    void note(int r, double now) {
        Rank& me = rank(r);
        const Step& s = step(r, me.step);
        me.free = now;
        if (with_spans_) spans_.push_back({r, me.round, s.kind, s.peer, s.bytes, me.begun, std::max(me.begun, me.ready), now});
    }

    const std::span<const Schedule> schedules_;
    const Matching matching_;
    Costs costs_;
    const Transfer transfer_;
    Flows flows_;
    const bool with_spans_;
    std::vector<Rank> ranks_;
    std::vector<Word> words_;
    std::vector<State> messages_;
    std::vector<std::vector<Offer>> offers_;
    std::vector<std::vector<std::uint32_t>> letter_of_;  // of rank and step
    std::vector<Letter> letters_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t number_ = 0;
    std::vector<Span> spans_;
};

}  // namespace

Simulation simulate_given(std::span<const Schedule> schedules, const Machine& machine, const Placement& places, const Transfer& transfer, bool spans) {
    if (places.ranks() != static_cast<int>(schedules.size())) throw std::invalid_argument("there are places for " + std::to_string(places.ranks()) + " ranks, and " + std::to_string(schedules.size()) + " schedules");
    return Simulator(schedules, machine, places, transfer, spans).run();
}

}  // namespace fanlight
