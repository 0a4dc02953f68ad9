#include "execute/copy.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "execute/run.h"
#include "topology/machine.h"

#ifdef __SSE2__
#include <x86intrin.h>
#endif

namespace fanlight {

std::size_t own_cache() {
    static const std::size_t bytes = [] {
        std::size_t l2 = 0;
        for (const Cache& cache : read_caches(::sched_getcpu()))
            if (cache.level == 2) l2 = cache.bytes;
        return std::max<std::size_t>(l2, 1 << 20);
    }();
    return bytes;
}

#ifdef __SSE2__

namespace {

enum class Stored { as_usual, past_the_cache };

// Past the cache: `to` is where a line begins.
template <Stored stored>
void copy_line(std::byte* to, const std::byte* from) {
    const auto* const f = reinterpret_cast<const __m128i*>(from);
    auto* const t = reinterpret_cast<__m128i*>(to);
    const __m128i all[] = {_mm_loadu_si128(f), _mm_loadu_si128(f + 1), _mm_loadu_si128(f + 2), _mm_loadu_si128(f + 3)};
    for (int i = 0; i < 4; ++i) stored == Stored::past_the_cache ? _mm_stream_si128(t + i, all[i]) : _mm_storeu_si128(t + i, all[i]);
}

// The caller ends with a fence, before any flag that says that the bytes are there.
void store_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t head = std::min((64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64, bytes);
    std::memcpy(to, from, head);
    std::size_t i = head;
    for (; i + 64 <= bytes; i += 64) copy_line<Stored::past_the_cache>(to + i, from + i);
    std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace

void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
    store_past_the_cache(to, from, bytes);
    _mm_sfence();
}

void copy_both(Copy message, Copy other) {
    const std::size_t both = reinterpret_cast<std::uintptr_t>(message.to) % 64 == 0 ? std::min(message.bytes, other.bytes) / 64 * 64 : 0;
    // By registers: other instructions (rep movs) would wait for the stores before them.
    for (std::size_t i = 0; i < both; i += 64) {
        copy_line<Stored::past_the_cache>(message.to + i, message.from + i);
        copy_line<Stored::as_usual>(other.to + i, other.from + i);
    }
    store_past_the_cache(message.to + both, message.from + both, message.bytes - both);
    if (both < other.bytes) std::memcpy(other.to + both, other.from + both, other.bytes - both);
    _mm_sfence();
}

namespace {

// Copies of less than `short_bytes` are over before anything is gained.  Below `long_bytes` each 16th is measured as a whole,
// above it each fourth by its beginning.
constexpr std::size_t short_bytes = 2 * 1024, long_bytes = 8 * 1024, beginning = 4 * 1024;
// What memcpy stores a register at a time.
constexpr std::size_t stored_by_registers = 1024;
constexpr std::uint8_t usual_after_short = 15, usual_after_long = 3;
// Measured for a line of 64 bytes: 3 to 8 cycles of the time-stamp counter where the lines come from a cache that both cores
// share, 18 where they do not fit it, 24 and more where they come from a cache that only the other core has.
constexpr std::uint64_t slow_line = 20;

std::uint64_t cycles() {
    unsigned core;
    return __rdtscp(&core);  // after all before it
}

// The cycles that a line took to be stored; what the loads take is not counted.
template <class Store>
std::uint64_t cycles_of_a_line(const std::byte* from, std::size_t bytes, Store&& store) {
    for (std::size_t i = 0; i < bytes; i += 64) static_cast<void>(*reinterpret_cast<const volatile std::byte*>(from + i));
    const std::uint64_t start = cycles();
    store();
    return (cycles() - start) * 64 / bytes;
}

// As what combines does.  With more at a time memcpy takes other instructions (rep movsb), which on some processors take no lines
// from the peer's cache.
void store_registers(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += stored_by_registers) std::memcpy(to + i, from + i, std::min(stored_by_registers, bytes - i));
}

// Whether the stores took long, and longer than past the cache.  A few stores are only queued until the peer's cache has given
// their lines: `until_there` waits for that.
template <class Store>
bool copied_slowly(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes, bool until_there, Store&& store) {
    const std::uint64_t line = cycles_of_a_line(from, bytes, [&] {
        store(to, from, bytes);
        if (until_there) _mm_mfence();
    });
    if (line <= slow_line || line > cache.past_line) return line > slow_line;
    cache.past_line = static_cast<std::uint16_t>(cache.past_line - cache.past_line / 8);  // so that it is measured again
    return false;
}

// As store_past_the_cache; times its beginning each fourth time.  One that was interrupted counts as at most twice the last one.
void store_past_the_cache(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes) {
    std::size_t timed = 0;
    if (cache.past_it % 4 == 0 && bytes >= short_bytes) {
        timed = std::min(beginning, bytes);
        const std::uint64_t line = cycles_of_a_line(from, timed, [&] { copy_past_the_cache(to, from, timed); });
        cache.past_line = static_cast<std::uint16_t>(std::min({line, 2 * std::max<std::uint64_t>(cache.past_line, slow_line), std::uint64_t{UINT16_MAX}}));
    }
    store_past_the_cache(to + timed, from + timed, bytes - timed);
}

bool is_slow(PeersCache& cache) { return cache.past_it > 0 && cache.past_it-- > 0; }

void was_slow(PeersCache& cache) {
    const std::uint8_t most = cache.of_a_shared_core ? 4 : 7;
    cache.past_it = static_cast<std::uint8_t>(1 << cache.times_slow);
    cache.times_slow = std::min<std::uint8_t>(cache.times_slow + 1, most);
}

void was_fast(PeersCache& cache) { cache.times_slow = cache.usual = cache.usual_long = 0; }

}  // namespace

void copy_for_peer(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto go_past_the_cache = [&](std::size_t done) {
        store_past_the_cache(cache, to + done, from + done, bytes - done);
        _mm_sfence();
    };
    const auto go_on = [&](std::size_t done, std::size_t n) { std::memcpy(to + done, from + done, n); };
    if (bytes < (cache.of_a_shared_core ? beginning : short_bytes)) return go_on(0, bytes);
    if (is_slow(cache)) return go_past_the_cache(0);
    if (std::uint8_t& usual = bytes < long_bytes ? cache.usual : cache.usual_long; usual > 0) return static_cast<void>(--usual), go_on(0, bytes);
    if (bytes < long_bytes) {
        if (cache.of_a_shared_core) return go_on(0, bytes);
        if (copied_slowly(cache, to, from, bytes, true, std::memcpy)) was_slow(cache);
        else was_fast(cache), cache.usual = usual_after_short;
        return;
    }
    std::size_t done = 0;
    while (bytes - done >= beginning) {  // of a few lines the time would be that of looking at the clock
        const bool slow = copied_slowly(cache, to + done, from + done, beginning, false, std::memcpy);
        done += beginning;
        if (slow) {
            was_slow(cache);
            return go_past_the_cache(done);
        }
        const std::size_t untimed = std::min(std::max(done, 3 * beginning), bytes - done);
        go_on(done, untimed);
        done += untimed;
    }
    go_on(done, bytes - done);
    was_fast(cache), cache.usual_long = usual_after_long;
}

void combine_for_peer(PeersCache& cache, const Combiner& combine, const std::byte* left, const std::byte* right, std::byte* to, std::size_t bytes,
                      std::size_t element) {
    alignas(64) std::byte made[beginning];
    const std::size_t piece = beginning / element * element;
    std::size_t done = 0;
    const auto make = [&](std::byte* into, std::size_t n) { combine(left + done, right + done, into, n); };
    const auto make_usual = [&](std::size_t n) {
        make(to + done, n);
        done += n;
    };
    const auto go_past_the_cache = [&] {
        bool is_first = true;
        for (std::size_t n; done < bytes; done += n, is_first = false) {
            make(made, n = std::min(piece, bytes - done));
            if (is_first) store_past_the_cache(cache, to + done, made, n);
            else store_past_the_cache(to + done, made, n);
        }
        _mm_sfence();
    };
    if (piece > 0 && bytes >= beginning && is_slow(cache)) return go_past_the_cache();
    while (piece > 0 && bytes - done >= long_bytes) {
        make(made, piece);
        const bool slow = copied_slowly(cache, to + done, made, piece, false, store_registers);
        done += piece;
        if (slow) {
            was_slow(cache);
            return go_past_the_cache();
        }
        make_usual(std::min(std::max(done, 3 * piece), bytes - done));
    }
    if (done > 0) cache.times_slow = 0;
    if (done < bytes) make_usual(bytes - done);
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    const bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes > own_cache() && apart) copy_past_the_cache(to, from, bytes);
    else std::memmove(to, from, bytes);
}

#else

void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void copy_both(Copy message, Copy other) {
    std::memcpy(message.to, message.from, message.bytes);
    if (other.bytes > 0) std::memcpy(other.to, other.from, other.bytes);
}

void copy_for_peer(PeersCache&, std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

void combine_for_peer(PeersCache&, const Combiner& combine, const std::byte* left, const std::byte* right, std::byte* to, std::size_t bytes, std::size_t) {
    combine(left, right, to, bytes);
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }

#endif

}  // namespace fanlight
