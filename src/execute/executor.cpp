#include "execute/executor.h"

#include <cstring>
#include <string>
#include <utility>

#include "execute/copy.h"
#include "execute/steps.h"
#include "memory/segment.h"
#include "topology/cores.h"

namespace fanlight {

Executor::Executor(const SharedSlots& slots, int rank, int size, Waiter::Hooks hooks, int ranks_on_node, int cores,
                   std::span<std::byte> mapped_scratch)
    : waiter(ranks_on_node > 0 ? ranks_on_node : size, std::move(hooks), cores),
      lockstep(slots, rank, size),
      shared_slots_(slots),
      rank_(rank),
      size_(size),
      mapped_scratch_(mapped_scratch),
      memory_(slots, rank, size) {
    if (slots.base()) enter();
}

void Executor::enter() {
    known_done_.assign(static_cast<std::size_t>(size_), 0);
    all_done_ = 0;
    long_staged_ = 0;
    has_later_areas_ = false;
    in_many_ = next_ = begun_ = put_ahead_ = 0;
    used_.assign(shared_slots_.areas() + shared_slots_.later_areas(), 0);
    filled_.assign(used_.size(), SIZE_MAX);
    fills_areas_ = waiter.oversubscribed();
    seen_bits_.assign(shared_slots_.slots() * shared_slots_.register_words(), 0);
    readers_cache_ = readers_sums_ = {.of_a_shared_core = waiter.oversubscribed()};
    caches_.assign(static_cast<std::size_t>(size_), readers_cache_);
    memory_.enter();
}

void Executor::meet() {
    memory_.meet();
    std::vector<pid_t> watched;
    for (int r = 0; r < size_; ++r) watched.push_back(memory_.knows(r) ? memory_.pid(r) : 0);
    waiter.watch(watched, rank_);
    waiter.share_cores(&shared_slots_.member(0).core, shared_slots_.part_bytes());
}

void Executor::load_flags(const BoundStep* gather, const std::byte* slot) {
    for (const BoundStep* s = gather + 1; s <= gather + gather->message; ++s)
        if (s->kind == BoundKind::arrive || s->kind == BoundKind::get) __builtin_prefetch(slot + s->cell);
}

std::byte* Executor::reached(const Frame& frame, int peer, std::uint64_t there, std::size_t bytes) {
    if (!frame.mapped) return memory_.at(peer, there, bytes);
    const std::size_t offset = there & ((std::uint64_t{1} << Frame::buffer_bits) - 1), p = static_cast<std::size_t>(peer);
    switch (static_cast<Buffer>((there >> Frame::buffer_bits) - 1)) {
        case Buffer::input: return frame.mapped->input[p] + frame.shift + offset;
        case Buffer::output: return frame.mapped->output[p] + frame.shift + offset;
        default: break;  // scratch
    }
    return mapped_scratch_.data() + p * (mapped_scratch_.size() / static_cast<std::size_t>(size_)) + offset;
}

std::byte* Executor::behind_others(std::uint64_t area, std::size_t bytes) const {
    const std::size_t filled = filled_[area];
    if (filled >= shared_slots_.staging_bytes()) return nullptr;
    const std::size_t next = (filled + 127) / 128 * 128;  // whole pairs of cache lines
    if (next + bytes > shared_slots_.staging_bytes()) return nullptr;
    for (int r = 0; r < size_; ++r)
        if (r != rank_ && known_done_[static_cast<std::size_t>(r)] < used_[area]) return shared_slots_.area(rank_, area) + next;
    return nullptr;
}

bool Executor::takes_more(const SharedSlots::Areas& areas, std::uint64_t sequence) {
    for (std::uint64_t i = areas.first; i < areas.first + areas.count; ++i) {
        if (used_[i] == sequence + 1) continue;  // what had this cell before was taken
        for (int r = 0; r < size_; ++r) {
            std::uint64_t& known = known_done_[static_cast<std::size_t>(r)];
            if (known < used_[i] && (known = load(shared_slots_.member(r).done)) < used_[i]) return false;
        }
    }
    take(areas, sequence);
    return true;
}

std::byte* Executor::staging(const BoundSchedule& schedule, std::uint64_t sequence, const Cursor& cursor, const BoundStep& s) {
    if (schedule.stages_at_reader && s.kind == BoundKind::put) return shared_slots_.area(s.peer, sequence & (shared_slots_.areas() - 1)) + s.staging;
    // So many earn back what the memory takes.
    constexpr std::size_t many = 64;
    if (s.bytes >= SharedSlots::goes_round_from && ++long_staged_ == many) has_later_areas_ = reserve_mapped(shared_slots_.later_staging(rank_));
    // A long row of puts goes from area to area, and not round in the places that were just read.
    if (schedule.reuses_cells && s.kind == BoundKind::put && uses_later_areas(schedule, cursor)) {
        const std::uint64_t turn = put_ahead_ / static_cast<std::uint64_t>(shared_slots_.depth());
        if (const SharedSlots::Areas areas = shared_slots_.staging(turn, rank_, schedule.staged, true); takes_more(areas, sequence)) {
            ++put_ahead_;
            return areas.at + s.staging;
        }
    }
    return cursor.staging + s.staging;
}

namespace {

bool are_apart(const Copy& a, const Copy& b) { return a.to + a.bytes <= b.from || b.from + b.bytes <= a.to; }

}  // namespace

bool Executor::stage(PeersCache& cache, const BoundSchedule& schedule, const Frame& frame, Cursor& cursor, std::size_t end, Cell& cell, std::byte* staged) {
    const BoundStep& s = schedule.steps[cursor.step];
    const auto at = [&](Buffer buffer, std::size_t offset) { return frame.base[static_cast<int>(buffer)] + offset; };
    const std::byte* const from = at(s.from_buffer, s.from);
    if (cursor.copies_along && cursor.step + 1 < end && is_copied_along(s, (&s)[1])) {
        const BoundStep& next = (&s)[1];
        const Copy message{staged, from, s.bytes}, copy{at(next.to_buffer, next.to), at(next.from_buffer, next.from), next.bytes};
        if (are_apart(copy, message) && are_apart(copy, copy)) {
            copy_both(message, copy);
            ++cursor.step;
            return false;
        }
    }
    constexpr std::size_t shortest_part = 16 * 1024, parts = 4;
    const bool many_read = s.kind == BoundKind::offer && s.readers != 1;
    // Where ranks share cores each wait of the reader's is a switch of contexts.
    if (s.bytes < 2 * shortest_part || !schedule.is_followed || many_read || waiter.oversubscribed()) {
        copy_for_peer(cache, staged, from, s.bytes);
        return false;
    }
    const std::size_t part = std::max(shortest_part, whole_lines(s.bytes / parts));
    for (std::size_t done = 0; done < s.bytes;) {
        const std::size_t n = std::min(part, s.bytes - done);
        copy_for_peer(cache, staged + done, from + done, n);
        done += n;
        // In the end all, also of a reader that expects too much.
        store(cell.there(), done == s.bytes ? shared_slots_.bytes() : static_cast<std::uint64_t>(staged + done - shared_slots_.base()));
        if (done == n) store(cell.flag, flag_of(frame.sequence, s.tag, s.place, Lent::no, Grows::yes));
    }
    return true;
}

void Executor::copy_once(Way way, const Frame& frame, int peer, std::byte* here, std::uint64_t there, std::size_t bytes) {
    if (std::byte* const theirs = reached(frame, peer, there, bytes))
        return way == Way::read ? copy_bytes(here, theirs, bytes) : copy_for_peer(caches_[static_cast<std::size_t>(peer)], theirs, here, bytes);
    if (const int error = memory_.copy(way, peer, here, there, bytes)) lost(peer, frame.name, error);
}

// Mapped, as it lies; or piece by piece, each combined while it is still in this core's own cache.
void Executor::read_at_owner(const BoundStep& s, const Frame& frame, std::uint64_t there, std::byte* to,
                             const std::byte* operand, const BoundSchedule& schedule) {
    if (s.order == Order::overwrite && s.fused == Order::overwrite) return copy_once(Way::read, frame, s.peer, to, there, s.bytes);
    const bool fused = s.fused != Order::overwrite, mine_first = fused ? s.fused == Order::before : s.order == Order::after;
    const std::byte* const mine = fused ? operand : to;
    const auto combine = [&](std::size_t i, const std::byte* theirs, std::size_t n) {
        const std::byte *left = mine_first ? mine + i : theirs, *right = mine_first ? theirs : mine + i;
        if (schedule.results_are_read) combine_for_peer(readers_sums_, *frame.combiner, left, right, to + i, n, schedule.element);
        else (*frame.combiner)(left, right, to + i, n);
    };
    if (const std::byte* const theirs = reached(frame, s.peer, there, s.bytes)) return combine(0, theirs, s.bytes);
    // Smaller pieces cost more system calls, larger ones leave the cache: measured.
    const std::size_t cached_piece = own_cache() / 8;
    const std::size_t piece = std::max(cached_piece / schedule.element, std::size_t{1}) * schedule.element;
    const bool in_place = fused && !schedule.results_are_read;
    if (!in_place && piece_.size() < piece) piece_.resize(piece);
    for (std::size_t i = 0; i < s.bytes; i += piece) {
        const std::size_t n = std::min(piece, s.bytes - i);
        std::byte* const got = in_place ? to + i : piece_.data();
        copy_once(Way::read, frame, s.peer, got, there + i, n);
        combine(i, got, n);
    }
}

bool Executor::lend(const BoundStep& s, const Frame& frame, std::span<const int> readers, Cell& cell) {
    const std::byte* const from = frame.base[static_cast<int>(s.from_buffer)] + s.from;
    if (!memory_.lends(from, s.bytes, readers) || (s.place != Place::direct && !memory_.lending_pays())) return false;
    cell.where = s.kind == BoundKind::put ? where_and_bytes(memory_.distance(from), s.bytes) : frame.address(s.from_buffer, s.from) - s.from;
    store(cell.flag, flag_of(frame.sequence, s.tag, s.place, Lent::yes));
    return true;
}

bool Executor::take_lent(const BoundStep& s, const Frame& frame, std::uint64_t flag, std::uint64_t where, std::byte* to, const BoundSchedule& schedule) {
    memory_.look_for(s.peer);
    if (!is_lent(flag)) return false;
    const std::uint64_t from = memory_.address(s.peer, distance_of(where));
    read_at_owner(s, frame, from, to, nullptr, schedule);
    return true;
}

// It can be read no more: it died, or somebody forbade it on the way.
[[noreturn]] void Executor::lost(int peer, const char* name, int error) {
    waiter.fail("rank " + std::to_string(rank_) + " cannot read the memory of rank " +
                 std::to_string(peer) + " in " + name + ": " + std::strerror(error) +
                 " (FANLIGHT_SINGLE_COPY=off avoids process_vm_readv)");
}

}  // namespace fanlight
