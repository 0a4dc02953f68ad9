// What each step of a bound schedule does, over shared slots and messages.
//
// The caller decides how to wait: wait(peer, ready) returns true when ready() is true, or false if that would take longer
// than the caller has time for.  Then the function returns false too, and the next call continues with the same step: no
// step does anything before its last wait, unless the caller waits in place, which never returns false.
// Wait::in_order: whether this member's operations end in the order in which they begin, as blocking ones do.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "execute/copy.h"
#include "execute/executor.h"

namespace fanlight {

inline void copy_result(const BoundSchedule& schedule, std::byte* to, const std::byte* from, std::size_t bytes) {
    if (schedule.has_long_results) [[unlikely]] copy_past_the_cache(to, from, bytes);
    else std::memcpy(to, from, bytes);
}

// Looks once.
template <bool ends_in_order>
struct OnePoll {
    static constexpr bool in_order = ends_in_order, in_place = false;
    int& waits_for;
    template <class Ready>
    bool operator()(int peer, Ready&& ready) const {
        if (ready()) return true;
        waits_for = peer;
        return false;
    }
};

// Waits in place.
struct ToTheEnd {
    static constexpr bool in_order = true, in_place = true;
    Waiter& waiter;
    const char* name;
    template <class Ready>
    bool operator()(int peer, Ready&& ready) const {
        waiter(peer, name, ready);
        return true;
    }
};

struct Executor::Frame {
    std::uint64_t sequence;
    std::byte* base[3];  // by Buffer
    const Combiner* combiner;
    const char* name;
    RemoteTransport* remote = nullptr;
    const Mapped* mapped = nullptr;
    std::size_t shift = 0;  // from the start of the mapped buffers to this piece's

    static Frame of(Run& run, Run::Piece& piece) {
        return {piece.sequence, {const_cast<std::byte*>(piece.input), piece.output, piece.scratch.data()},
                &run.combiner_, run.plan_->name.c_str(), piece.remote.get()};
    }

    // By which the peers find it: an address of this process, or a place in a buffer that they have
    // mapped elsewhere.  Never 0.
    static constexpr int buffer_bits = 56;
    std::uint64_t address(Buffer buffer, std::size_t offset) const {
        if (mapped) return (static_cast<std::uint64_t>(buffer) + 1) << buffer_bits | offset;
        return reinterpret_cast<std::uint64_t>(base[static_cast<int>(buffer)] + offset);
    }
};

// Its slot and its areas may be used again when every member has read all that it wanted of the operations that used them
// before.  Areas are taken in the order of the operations, so that none waits for one that comes after it.  Where ranks share
// cores an operation may also follow others in an area: these lie there since it was free, and the next that does not fit, or
// takes several areas, waits until it is free again.
template <class Wait>
bool Executor::slot_is_free(const BoundSchedule& schedule, std::uint64_t sequence, Cursor& cursor, const Wait& wait) {
    std::uint64_t needed = sequence < shared_slots_.slots() ? 0 : sequence + 1 - shared_slots_.slots();
    SharedSlots::Areas areas;
    const bool stages = schedule.staged > 0 || schedule.stages_at_reader;
    if (!Wait::in_order && sequence != next_ && (stages || schedule.in_many_areas || sequence - next_ >= 64)) return false;
    if (stages) areas = shared_slots_.staging(sequence, rank_, schedule.staged, uses_later_areas(schedule, cursor), cursor.in_few_places);
    const bool fills = fills_areas_ && areas.count == 1 && !schedule.stages_at_reader && !schedule.reuses_cells;
    if (std::byte* const behind = fills ? behind_others(areas.first, schedule.staged) : nullptr) areas.at = behind;
    else if (stages && !schedule.stages_at_reader) needed = std::max(needed, last_use(areas));
    // Others' areas are those of their last operations, unless they took more.
    else if (schedule.staged > 0) needed = std::max({needed, in_many_, sequence < shared_slots_.areas() ? 0 : sequence + 1 - shared_slots_.areas()});
    if (all_done_ < needed) {
        std::uint64_t least = sequence;
        for (int r = 0; r < size_; ++r) {
            if (Wait::in_order && r == rank_) continue;
            std::uint64_t& known = known_done_[static_cast<std::size_t>(r)];
            if (known < needed) {
                const std::uint64_t& done = shared_slots_.member(r).done;
                if (!wait(r, [&] { return (known = load(done)) >= needed; })) return false;
            }
            least = std::min(least, known);
        }
        all_done_ = least;
    }
    take(areas, sequence);
    if (fills) filled_[areas.first] = static_cast<std::size_t>(areas.at - shared_slots_.area(rank_, areas.first)) + schedule.staged;
    cursor.staging = areas.at;
    if (schedule.in_many_areas) in_many_ = sequence + 1;
    begun_ |= std::uint64_t{1} << (sequence - next_);
    for (; begun_ & 1; begun_ >>= 1) ++next_;
    return true;
}

// The message's one reader follows while it is being staged, up to where Cell::there says that it is there.
template <class Wait, class Take>
bool Executor::take_as_it_comes(const BoundStep& s, const BoundSchedule& schedule, const Cell& cell, const std::byte* from, const Wait& wait, const Take& take) {
    const auto here = [&] { return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(shared_slots_.base() + load(cell.there()) - from, 0, static_cast<std::ptrdiff_t>(s.bytes))); };
    if constexpr (!Wait::in_place) {
        if (!wait(s.peer, [&] { return here() == s.bytes; })) return false;
        take(0, s.bytes);
        return true;
    }
    for (std::size_t taken = 0; taken < s.bytes;) {
        std::size_t end;
        wait(s.peer, [&] { return (end = here()) == s.bytes || (end -= end % schedule.element) > taken; });
        take(taken, end - taken);
        taken = end;
    }
    return true;
}

template <class Wait>
bool Executor::steps(const BoundSchedule& schedule, const Frame& frame, Cursor& cursor, std::size_t end, const Wait& wait) {
    const std::uint64_t sequence = frame.sequence;
    const Combiner* const combiner = frame.combiner;
    std::byte* const segment = shared_slots_.base();
    std::byte* const slot = shared_slots_.slot(sequence);
    const auto at = [&](Buffer buffer, std::size_t offset) { return frame.base[static_cast<int>(buffer)] + offset; };
    const auto channel_of = [&](const BoundStep& s) -> Channel& { return *reinterpret_cast<Channel*>(slot + s.channel); };
    const auto taken = [&](std::uint64_t messages) { return messages_taken(sequence, messages); };
    // Whom no one waits for may be behind.  What it finds in the next operation, likely one like this, is then on its way.  (With
    // an `if` around the prefetch GCC 12 drops both.)
    const std::byte* const ahead = schedule.sends_end == 0 ? shared_slots_.slot(sequence + 1) : slot;
    const auto readers_of = [&](const BoundStep& s) { return std::span(schedule.readers).subspan(s.first_reader, s.readers); };

    for (std::size_t& next = cursor.step; next < end; ++next) {
        const BoundStep& s = schedule.steps[next];
        switch (s.kind) {
            case BoundKind::post: {
                Channel::Post& post = channel_of(s).post(s.message & (shared_slots_.posts() - 1));
                // Where nothing is posted this rank reads what comes.
                post.address = s.order == Order::overwrite && !schedule.readers_copy ? frame.address(s.to_buffer, s.to) : 0;
                if (s.lendable) memory_.lends(at(s.to_buffer, s.to), s.bytes, {&s.peer, 1});
                post.bytes = s.bytes;
                store(post.flag, flag_of(sequence, s.tag, Place::direct));
                break;
            }
            case BoundKind::put: {
                auto* cell = reinterpret_cast<Cell*>(slot + s.cell);
                if (s.acknowledged) {
                    // The cell and its staging hold message j - depth until that was taken.
                    const auto& channel = channel_of(s);
                    const std::uint64_t needed = taken(s.message + 1 - static_cast<std::uint64_t>(shared_slots_.depth()));
                    if (!wait(s.peer, [&] { return load(channel.taken) >= needed; })) return false;
                }
                std::byte* from = at(s.from_buffer, s.from);
                if (s.place == Place::direct) {
                    const Channel::Post& post = channel_of(s).post(s.message & (shared_slots_.posts() - 1));
                    const std::uint64_t announced = flag_of(sequence, s.tag, Place::direct, Lent::yes);
                    if (!flag_has_tag(load(post.flag), sequence, s.tag) && load(cell->flag) != announced) {
                        // A reader that takes the message for a short one posts nothing.
                        cell->where = where_and_bytes(0, std::min(s.bytes, longest_staged_put));
                        store(cell->flag, announced);
                    }
                    if (!wait(s.peer, [&] { return flag_has_tag(load(post.flag), sequence, s.tag); })) return false;
                    if (post.bytes != s.bytes) [[unlikely]] lockstep.wrong_length(s.peer, false, s.bytes, post.bytes, frame.name);
                    if (post.address) copy_once(Way::write, frame, s.peer, from, post.address, s.bytes);
                    else cell->where = frame.address(s.from_buffer, s.from);
                    if (s.lendable) memory_.lends(from, s.bytes, {&s.peer, 1});  // from where it is read, if it is
                } else if (s.place == Place::inlined) {
                    if (s.bytes > 0) std::memcpy(cell->payload(), from, s.bytes);
                    cell->where = where_and_bytes(0, s.bytes);
                } else if (s.lendable && lend(s, frame, {&s.peer, 1}, *cell)) {
                    ++cursor.lent;
                    break;
                } else {
                    std::byte* const staged = staging(schedule, sequence, cursor, s);
                    cell->where = where_and_bytes(static_cast<std::uint64_t>(staged - segment), s.bytes);
                    if (stage(caches_[static_cast<std::size_t>(s.peer)], schedule, frame, cursor, end, *cell, staged)) break;
                }
                store(cell->flag, flag_of(sequence, s.tag, s.place));
                break;
            }
            case BoundKind::set_bit:
                toggle(*reinterpret_cast<std::uint64_t*>(slot + s.cell), std::uint64_t{1} << s.message % 64);
                break;
            case BoundKind::await_bit: {
                const auto* word = reinterpret_cast<const std::uint64_t*>(slot + s.cell);
                const std::uint64_t bit = std::uint64_t{1} << s.message % 64;
                std::uint64_t& seen = seen_bits_[(sequence & (shared_slots_.slots() - 1)) * shared_slots_.register_words() + s.message / 64];
                if (!wait(s.peer, [&] { return ((load(*word) ^ seen) & bit) != 0; })) return false;
                seen ^= bit;
                if constexpr (Wait::in_order) note_done(s.peer, sequence);
                break;
            }
            case BoundKind::settle: {
                if (s.place != Place::direct) {
                    if (cursor.lent == 0) break;
                    // Its cell has it until it was taken.
                    const std::uint64_t flag = load(reinterpret_cast<const Cell*>(slot + s.cell)->flag);
                    if (!is_lent(flag) || !flag_has_tag(flag, sequence, s.tag)) break;
                }
                const Channel& channel = channel_of(s);
                if (!wait(s.peer, [&] { return load(channel.taken) >= taken(s.message + 1); })) return false;
                break;
            }
            case BoundKind::offer: {
                auto* cell = reinterpret_cast<Cell*>(slot + s.cell);
                if (s.bytes > 0) {
                    const std::byte* from = at(s.from_buffer, s.from);
                    const auto lies_at = [&](std::uint64_t where) { cell->where = where - s.from; };
                    if (s.place == Place::inlined) {
                        std::memcpy(cell->payload(), from, s.bytes);
                        lies_at(static_cast<std::uint64_t>(cell->payload() - segment));
                    } else if (s.lendable && lend(s, frame, readers_of(s), *cell)) {
                        ++cursor.lent;
                        break;
                    } else if (s.place == Place::staged) {
                        std::byte* const staged = staging(schedule, sequence, cursor, s);
                        lies_at(static_cast<std::uint64_t>(staged - segment));
                        if (stage(readers_cache_, schedule, frame, cursor, end, *cell, staged)) break;
                    } else {
                        lies_at(frame.address(s.from_buffer, s.from));
                    }
                }
                store(cell->flag, flag_of(sequence, s.tag, s.place));
                break;
            }
            case BoundKind::arrive: {
                const auto* cell = reinterpret_cast<const Cell*>(slot + s.cell);
                std::uint64_t flag;
                if (!wait(s.peer, [&] { return flag_has_tag(flag = load(cell->flag), sequence, s.tag); })) return false;
                if (s.place == Place::direct && !wait(s.peer, [&] { return place_of(flag = load(cell->flag)) != Place::direct || !is_lent(flag); })) return false;
                __builtin_prefetch(ahead + s.cell);
                if constexpr (Wait::in_order) note_done(s.peer, sequence);
                if (place_of(flag) != s.place || (s.place != Place::direct && bytes_of(cell->where) != s.bytes)) [[unlikely]]
                    lockstep.wrong_length(s.peer, true, bytes_of(cell->where), s.bytes, frame.name,
                                          place_of(flag) == Place::part || bytes_of(cell->where) == longest_staged_put, s.place == Place::part);
                std::byte* to = at(s.to_buffer, s.to);
                if (s.place == Place::direct) {
                    if (s.order != Order::overwrite || schedule.readers_copy) read_at_owner(s, frame, cell->where, to, nullptr, schedule);
                } else if (s.lendable && take_lent(s, frame, flag, cell->where, to, schedule)) {
                    store(channel_of(s).taken, taken(s.message + 1));
                    break;
                } else if (s.bytes > 0) {
                    const std::byte* from = s.place == Place::inlined ? cell->payload() : segment + where_of(cell->where);
                    const auto take = [&](std::size_t i, std::size_t n) {
                        if (s.order == Order::overwrite) copy_result(schedule, to + i, from + i, n);
                        else if (s.order == Order::before) (*combiner)(from + i, to + i, to + i, n);
                        else (*combiner)(to + i, from + i, to + i, n);
                    };
                    if (!grows(flag)) take(0, s.bytes);
                    else if (!take_as_it_comes(s, schedule, *cell, from, wait, take)) return false;
                }
                if (s.acknowledged) store(channel_of(s).taken, taken(s.message + 1));
                break;
            }
            case BoundKind::get: {
                const auto* cell = reinterpret_cast<const Cell*>(slot + s.cell);
                std::uint64_t flag;
                if (!wait(s.peer, [&] { return flag_has_tag(flag = load(cell->flag), sequence, s.tag); })) return false;
                __builtin_prefetch(ahead + s.cell);
                if constexpr (Wait::in_order) note_done(s.peer, sequence);
                if (s.bytes == 0) break;
                std::byte* to = at(s.to_buffer, s.to);
                const std::byte* operand = at(s.operand_buffer, s.operand);
                if (s.lendable) [[unlikely]] memory_.look_for(s.peer);
                if (is_read_at_owner(flag)) {
                    read_at_owner(s, frame, cell->where + s.from, to, operand, schedule);
                } else {
                    const std::byte* from = segment + cell->where + s.from;
                    const auto take = [&](std::size_t i, std::size_t n) {
                        if (s.fused == Order::before) (*combiner)(operand + i, from + i, to + i, n);
                        else if (s.fused == Order::after) (*combiner)(from + i, operand + i, to + i, n);
                        else if (s.order == Order::overwrite) copy_result(schedule, to + i, from + i, n);
                        else if (s.order == Order::before) (*combiner)(from + i, to + i, to + i, n);
                        else (*combiner)(to + i, from + i, to + i, n);
                    };
                    if (!grows(flag)) take(0, s.bytes);
                    else if (!take_as_it_comes(s, schedule, *cell, from, wait, take)) return false;
                }
                break;
            }
            case BoundKind::copy: {
                const std::byte* from = at(s.from_buffer, s.from);
                std::byte* to = at(s.to_buffer, s.to);
                if (from != to && s.bytes > 0) copy_bytes(to, from, s.bytes);
                break;
            }
            case BoundKind::combine: {
                const std::byte* from = at(s.from_buffer, s.from);
                std::byte* to = at(s.to_buffer, s.to);
                if (s.bytes == 0) break;
                if (s.order == Order::before) (*combiner)(from, to, to, s.bytes);
                else (*combiner)(to, from, to, s.bytes);
                break;
            }
            case BoundKind::begin: frame.remote->begin(); break;
            case BoundKind::receive: frame.remote->receive(schedule.messages[s.message], at(s.to_buffer, s.to)); break;
            case BoundKind::send: frame.remote->send(schedule.messages[s.message], at(s.from_buffer, s.from)); break;
            case BoundKind::end_round:
                if (!wait(-1, [&] { return frame.remote->round_over(s.message); })) return false;
                break;
            case BoundKind::gather: load_flags(&s, slot); break;
            case BoundKind::end:
                if (!wait(-1, [&] { return frame.remote->operation_over(s.message); })) return false;
                break;
        }
    }
    return true;
}

// What this member offered of its own memory is its own again when the readers have read it.
template <class Wait>
bool Executor::was_read(const BoundSchedule& schedule, std::uint64_t sequence, bool lends, const Wait& wait) {
    for (const BoundStep& s : schedule.steps) {
        if (s.kind != BoundKind::offer || !(s.place == Place::direct || (lends && s.lendable))) continue;
        for (std::uint32_t i = 0; i < s.readers; ++i) {
            const int reader = schedule.readers[s.first_reader + i];
            std::uint64_t& known = known_done_[static_cast<std::size_t>(reader)];
            const std::uint64_t& done = shared_slots_.member(reader).done;
            if (known <= sequence && !wait(reader, [&] { return (known = load(done)) > sequence; })) return false;
        }
    }
    return true;
}

}  // namespace fanlight
