#include "schedule/verify.h"

#include <algorithm>
#include <optional>

#include "schedule/clocks.h"
#include "schedule/contents.h"
#include "schedule/describe.h"
#include "schedule/expression.h"
#include "schedule/layout.h"
#include "schedule/matching.h"
#include "schedule/progress.h"
#include "schedule/races.h"

namespace fanlight {
namespace {

using namespace symbolic;

bool writes_here(StepKind kind) {
    return kind == StepKind::arrive || kind == StepKind::get || kind == StepKind::copy ||
           kind == StepKind::combine;
}

bool reads_here(StepKind kind) {
    return kind == StepKind::put || kind == StepKind::offer || kind == StepKind::copy ||
           kind == StepKind::combine;
}

// What can be seen at each step alone: its addresses and its kind.
class StepCheck {
public:
    StepCheck(std::span<const Schedule> schedules, const Problem& whole) : whole_(whole) {
        for (int r = 0; r < whole.size; ++r) check_rank(schedules[static_cast<std::size_t>(r)], r);
    }
    std::vector<std::string> faults;

private:
    void check_rank(const Schedule& schedule, int rank) {
        const Ranges input = bytes_of_input(whole_, rank);
        const Ranges output = bytes_of_output(whole_, rank);
        std::uint32_t i = 0;
        for (std::size_t round = 0; round < schedule.rounds(); ++round)
            for (; i < schedule.round_ends[round]; ++i) {
                const Step& s = schedule.steps[i];
                const auto fault = [&](const std::string& what) {
                    faults.push_back(place(rank, round) + ": " + describe(s) + " " + what);
                };
                const auto in_buffer = [&](Address at) {
                    const Range range{at.offset, at.offset + s.bytes};
                    if (at.buffer == Buffer::unknown) return false;
                    if (s.bytes == 0) return true;
                    switch (at.buffer) {
                        case Buffer::input: return inside(input, range);
                        case Buffer::output: return inside(output, range);
                        case Buffer::scratch: return range.end <= schedule.scratch_bytes;
                        case Buffer::unknown: break;
                    }
                    return false;
                };
                const bool reads = reads_here(s.kind), writes = writes_here(s.kind);
                if (reads && !in_buffer(s.from))
                    fault("reads outside of the " + to_string(s.from.buffer));
                if (writes && !in_buffer(s.to))
                    fault("writes outside of the " + to_string(s.to.buffer) +
                          (s.to.buffer == Buffer::output ? "'s part that receives a result" : ""));
                if (writes && s.bytes > 0 && s.to.buffer == Buffer::input)
                    fault("writes the input");
                if (writes && s.order != Order::overwrite) {
                    if (!reduces(whole_.operation))
                        fault("combines, but this operation has no operator");
                    else if (s.bytes % whole_.element != 0)
                        fault("combines a length that is not a multiple of an element (" +
                              std::to_string(whole_.element) + " bytes)");
                }
                if (s.kind == StepKind::combine && s.order == Order::overwrite)
                    fault("has no order: before or after");
                if (s.kind == StepKind::copy && s.order != Order::overwrite)
                    fault("has an order; a copy overwrites");
                const bool same_memory = whole_.operation == Operation::bcast &&
                                         rank == whole_.root && s.to.buffer == Buffer::output;
                if (writes && same_memory && s.bytes > 0 &&
                    !(s.kind == StepKind::copy && s.from == fanlight::input(s.to.offset)))
                    fault("writes the root's output, which is its input; only a copy from the same "
                          "place of the input may");
            }
    }

    const Problem& whole_;
};

// The data of all ranks, through all calls.
class DataRun : public Observer {
public:
    DataRun(std::span<const Schedule> schedules, const Problem& whole, const Matching& matching,
            int calls)
        : schedules_(schedules),
          whole_(whole),
          matching_(matching),
          terms_(whole.size, calls),
          clocks_(schedules),
          memory_(schedules.size()),
          values_(matching.messages.size()) {}

    void begin_call(int call) {
        call_ = call;
        for (int r = 0; r < whole_.size; ++r) {
            auto& memory = memory_[static_cast<std::size_t>(r)];
            contents(memory, Buffer::input).clear();
            contents(memory, Buffer::output).clear();
            for (const Range& range : bytes_of_input(whole_, r)) {
                const Piece data{0, range.end - range.begin, terms_.input(r, call),
                                 static_cast<std::int64_t>(range.begin)};
                contents(memory, Buffer::input).write(range.begin, range.end, {&data, 1});
            }
        }
    }

    void enter(int rank, std::uint32_t round) override {
        if (call_ == 0) clocks_.enter(rank, round);
        const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
        const std::uint32_t begin = round == 0 ? 0 : schedule.round_ends[round - 1];
        for (std::uint32_t i = begin; i < schedule.round_ends[round]; ++i) {
            const Step& s = schedule.steps[i];
            const StepPlace here{rank, round, i};
            if (s.kind == StepKind::put) {
                const std::uint32_t m = matching_.message_of[static_cast<std::size_t>(rank)][i];
                values_[m].clear();
                read(here, rank, s.from, s.bytes, values_[m]);
            } else if (s.kind == StepKind::copy || s.kind == StepKind::combine) {
                std::vector<Piece> value;
                if (read(here, rank, s.from, s.bytes, value)) store(here, s, value);
            }
        }
    }

    void taken(const Message& m) override {
        if (call_ == 0) clocks_.learn(m.arrive.rank, m.arrive.round, m.put.rank, m.put.round);
        const auto index = static_cast<std::size_t>(&m - matching_.messages.data());
        store(m.arrive, step(m.arrive), values_[index]);
        std::vector<Piece>().swap(values_[index]);
    }

    void got(const StepPlace& get) override {
        const Step& s = step(get);
        const auto& offers = matching_.offers[static_cast<std::size_t>(s.peer)];
        const StepPlace& offer = offers[static_cast<std::size_t>(s.offer)];
        if (call_ == 0) clocks_.learn(get.rank, get.round, offer.rank, offer.round);
        std::vector<Piece> value;
        if (read(get, s.peer, s.from, s.bytes, value)) store(get, s, value);
    }

    void check_results() {
        if (!faults.empty()) return;  // then the results can only be wrong, too
        for (int r = 0; r < whole_.size; ++r) {
            for (const Expected& e : expected_output(whole_, r)) check_range(r, e);
        }
        if (whole_.operation == Operation::allreduce) check_same_bits();
        if (whole_.operation == Operation::barrier && call_ == 0) check_barrier();
    }

    std::vector<std::string> brackets(int rank) {
        std::vector<std::string> all;
        for (const Piece& p : contents(rank, Buffer::output).pieces()) {
            std::string text = terms_.text(p.term, std::string::npos);
            if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
        }
        return all;
    }

    const Clocks& clocks() const { return clocks_; }
    std::vector<std::string> faults;

private:
    struct Memory {
        Contents buffers[3];
    };

    static Contents& contents(Memory& memory, Buffer buffer) {
        return memory.buffers[static_cast<std::size_t>(buffer)];
    }
    Contents& contents(int rank, Buffer buffer) {
        return contents(memory_[static_cast<std::size_t>(rank)], buffer);
    }
    const Step& step(const StepPlace& p) const {
        return schedules_[static_cast<std::size_t>(p.rank)].steps[p.step];
    }
    std::string in_call() const { return call_ == 0 ? "" : "call " + std::to_string(call_) + ": "; }

    bool read(const StepPlace& here, int rank, Address at, std::size_t bytes,
              std::vector<Piece>& value) {
        std::size_t hole = 0;
        if (contents(rank, at.buffer).read(at.offset, at.offset + bytes, value, &hole)) return true;
        value.clear();
        // One such fault is enough: those behind it mostly follow from it.
        if (!read_unwritten_)
            faults.push_back(in_call() + place(here.rank, here.round) + ": " + describe(step(here)) +
                             " reads byte " + std::to_string(hole) + " of the " +
                             to_string(at.buffer) +
                             (rank == here.rank ? "" : " of rank " + std::to_string(rank)) +
                             ", which nobody has written yet");
        read_unwritten_ = true;
        return false;
    }

    void store(const StepPlace& here, const Step& s, std::span<const Piece> value) {
        if (s.bytes == 0 || value.empty()) return;
        Contents& target = contents(here.rank, s.to.buffer);
        if (s.order == Order::overwrite) {
            target.write(s.to.offset, s.to.offset + s.bytes, value);
            return;
        }
        std::vector<Piece> present, result;
        if (!read(here, here.rank, s.to, s.bytes, present)) return;
        if (s.order == Order::before)
            combine(terms_, value, present, result);
        else
            combine(terms_, present, value, result);
        const auto element = static_cast<std::int64_t>(whole_.element);
        if (result.front().shift % element != 0)
            faults.push_back(in_call() + place(here.rank, here.round) + ": " + describe(s) +
                             " begins in the middle of an element");
        target.write(s.to.offset, s.to.offset + s.bytes, result);
    }

    // Where a byte of the output was written last, in words.
    std::string writer_of(int rank, std::size_t at) const {
        const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
        for (std::size_t round = schedule.rounds(); round-- > 0;)
            for (const Step& s : schedule.round(round))
                if (writes_here(s.kind) && s.to.buffer == Buffer::output && s.to.offset <= at &&
                    at < s.to.offset + s.bytes)
                    return "; written in round " + std::to_string(round) + " by " + describe(s);
        return {};
    }

    std::string holds(const Piece& p) const {
        const auto from = static_cast<std::int64_t>(p.begin) + p.shift;
        const auto to = static_cast<std::int64_t>(p.end) + p.shift;
        const std::string range = "[" + std::to_string(from) + "," + std::to_string(to) + ")";
        if (terms_.is_input(p.term)) return "input" + range + " of rank " + terms_.text(p.term);
        return terms_.text(p.term) + " of input" + range;
    }

    void check_range(int rank, const Expected& e) {
        if (e.at.begin == e.at.end) return;
        std::vector<Piece> value;
        std::size_t hole = 0;
        const std::string who = in_call() + "rank " + std::to_string(rank) + ": ";
        if (!contents(rank, Buffer::output).read(e.at.begin, e.at.end, value, &hole)) {
            faults.push_back(who + describe(output(e.at.begin), e.at.end - e.at.begin) +
                             " is not complete: byte " + std::to_string(hole) + " was never written");
            return;
        }
        for (Piece p : value) {
            p.begin += e.at.begin;
            p.end += e.at.begin;
            p.shift -= static_cast<std::int64_t>(e.at.begin);
            const std::string wrong = wrong_with(p, e);
            if (wrong.empty()) continue;
            faults.push_back(who + describe(output(p.begin), p.end - p.begin) + " holds " + holds(p) +
                             ": " + wrong + writer_of(rank, p.begin));
            return;
        }
    }

    std::string wrong_with(const Piece& p, const Expected& e) {
        const auto offset = static_cast<std::int64_t>(e.offset);
        const auto begin = static_cast<std::int64_t>(e.at.begin);
        const bool moves_only = e.last == e.first + 1;
        const bool same_place = p.shift == offset - begin;
        if (moves_only) {
            if (same_place && p.term == terms_.input(e.first, call_)) return {};
            const auto from = static_cast<std::size_t>(static_cast<std::int64_t>(p.begin) + offset - begin);
            return describe(input(from), p.end - p.begin) + " of rank " + std::to_string(e.first) +
                   " should be there";
        }
        if (!same_place) return "it is at the wrong place";
        return terms_.mismatch(p.term, e.first, e.last, call_, !whole_.commutative);
    }

    void check_same_bits() {
        const auto first = contents(0, Buffer::output).pieces();
        for (int r = 1; r < whole_.size; ++r) {
            const auto here = contents(r, Buffer::output).pieces();
            if (std::equal(first.begin(), first.end(), here.begin(), here.end())) continue;
            for (std::size_t i = 0; i < std::min(first.size(), here.size()); ++i)
                if (!(first[i] == here[i])) {
                    faults.push_back(in_call() + "rank " + std::to_string(r) + ": " +
                                     describe(output(here[i].begin), here[i].end - here[i].begin) +
                                     " is combined as " + terms_.text(here[i].term) +
                                     ", at rank 0 as " + terms_.text(first[i].term) +
                                     ": not the same bits everywhere" + writer_of(r, here[i].begin));
                    break;
                }
        }
    }

    void check_barrier() {
        for (int r = 0; r < whole_.size; ++r)
            for (int p = 0; p < whole_.size; ++p) {
                const auto end = static_cast<std::uint32_t>(schedules_[static_cast<std::size_t>(r)].rounds());
                if (p == r || clocks_.begun(p, r, end)) continue;
                faults.push_back("rank " + std::to_string(r) + ": leaves the barrier after round " +
                                 std::to_string(end) + " without knowing that rank " +
                                 std::to_string(p) + " has come to it");
                break;
            }
    }

    std::span<const Schedule> schedules_;
    const Problem& whole_;
    const Matching& matching_;
    Terms terms_;
    Clocks clocks_;
    std::vector<Memory> memory_;
    std::vector<std::vector<Piece>> values_;  // of messages that are in flight
    int call_ = 0;
    bool read_unwritten_ = false;
};

std::vector<std::string> shortened(std::vector<std::string> faults, std::size_t most) {
    if (faults.size() > most) {
        const std::size_t more = faults.size() - most;
        faults.resize(most);
        faults.push_back("... and " + std::to_string(more) + " more");
    }
    return faults;
}

}  // namespace

std::vector<std::string> verify(std::span<const Schedule> schedules, const Problem& whole,
                                const VerifyOptions& options) {
    if (whole.size < 1 || schedules.size() != static_cast<std::size_t>(whole.size))
        return {"there are " + std::to_string(schedules.size()) + " schedules for " +
                std::to_string(whole.size) + " ranks"};
    if (const std::string fault = fault_of_blocks(whole); !fault.empty()) return {fault};
    if (whole.element == 0) return {"the problem's element has no bytes"};

    const Matching matching = match(schedules);
    if (!matching.faults.empty()) return shortened(matching.faults, options.most);
    StepCheck steps(schedules, whole);
    if (!steps.faults.empty()) return shortened(std::move(steps.faults), options.most);

    DataRun data(schedules, whole, matching, std::max(1, options.calls));
    std::vector<std::string> faults;
    for (int call = 0; call < std::max(1, options.calls); ++call) {
        data.begin_call(call);
        const Progress progress = run(schedules, matching, options.puts, data);
        if (!progress.finished) {
            faults = explain_deadlock(schedules, matching, progress);
            for (std::string& line : faults) line = "deadlock: " + line;
            return shortened(std::move(faults), options.most);
        }
        if (call == 0) find_races(schedules, matching, data.clocks(), faults, options.most);
        data.check_results();
        if (!faults.empty() || !data.faults.empty()) break;
    }
    faults.insert(faults.end(), data.faults.begin(), data.faults.end());
    return shortened(std::move(faults), options.most);
}

std::vector<std::vector<std::string>> brackets(std::span<const Schedule> schedules, const Problem& whole) {
    const Matching matching = match(schedules);
    DataRun data(schedules, whole, matching, 1);
    data.begin_call(0);
    run(schedules, matching, Puts::rendezvous, data);
    std::vector<std::vector<std::string>> all;
    for (int r = 0; r < whole.size; ++r) all.push_back(data.brackets(r));
    return all;
}

}  // namespace fanlight
