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

namespace {

// Line by line: each is loaded once.  A page to the one place and then to the other takes longer.
[[gnu::always_inline]] inline void copy_lines_twice(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) {
    std::size_t i = 0;
    using Half = long long [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]];
    for (; i + 64 <= bytes; i += 64) {
        const auto* const f = reinterpret_cast<const Half*>(from + i);
        auto *const t = reinterpret_cast<Half*>(to + i), *const u = reinterpret_cast<Half*>(also_to + i);
        const auto a = f[0], b = f[1];
        t[0] = a, t[1] = b;
        u[0] = a, u[1] = b;
    }
    std::memcpy(to + i, from + i, bytes - i);
    std::memcpy(also_to + i, from + i, bytes - i);
}

#ifdef __x86_64__

[[gnu::target("avx2")]] void copy_twice_with_avx2(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) {
    copy_lines_twice(to, also_to, from, bytes);
}

void copy_twice(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) {
    if (__builtin_cpu_supports("avx2")) copy_twice_with_avx2(to, also_to, from, bytes);
    else copy_lines_twice(to, also_to, from, bytes);
}

#else

void copy_twice(std::byte* to, std::byte* also_to, const std::byte* from, std::size_t bytes) { copy_lines_twice(to, also_to, from, bytes); }

#endif

// `also_to`: null, or another place.
void copy_there(std::byte* to, const std::byte* from, std::size_t bytes, std::byte* also_to) {
    if (also_to) copy_twice(to, also_to, from, bytes);
    else std::memcpy(to, from, bytes);
}

}  // namespace

#ifdef __SSE2__

namespace {

// The caller ends with a fence, before any flag that says that the bytes are there.
void store_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes, std::byte* also_to = nullptr) {
    const std::size_t head = std::min((64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64, bytes);
    copy_there(to, from, head, also_to);
    std::size_t i = head;
    for (; i + 64 <= bytes; i += 64) {
        const auto* f = reinterpret_cast<const __m128i*>(from + i);
        auto* t = reinterpret_cast<__m128i*>(to + i);
        const __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1), c = _mm_loadu_si128(f + 2),
                      d = _mm_loadu_si128(f + 3);
        _mm_stream_si128(t, a);
        _mm_stream_si128(t + 1, b);
        _mm_stream_si128(t + 2, c);
        _mm_stream_si128(t + 3, d);
        if (!also_to) continue;
        auto* u = reinterpret_cast<__m128i*>(also_to + i);
        _mm_storeu_si128(u, a);
        _mm_storeu_si128(u + 1, b);
        _mm_storeu_si128(u + 2, c);
        _mm_storeu_si128(u + 3, d);
    }
    copy_there(to + i, from + i, bytes - i, also_to ? also_to + i : nullptr);
}

}  // namespace

void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
    store_past_the_cache(to, from, bytes);
    _mm_sfence();
}

namespace {

// Copies of less than `short_bytes` are over before anything is gained.  Below `long_bytes` each 16th is measured as a whole,
// above it each fourth by its beginning.
constexpr std::size_t short_bytes = 2 * 1024, long_bytes = 8 * 1024, beginning = 4 * 1024;
// So much is combined, and then stored a second time while the first stores are under way.
constexpr std::size_t made_at_a_time = 1024;
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

// Whether the stores took long, and longer than past the cache.  A few stores are only queued until the peer's cache has given
// their lines: `until_there` waits for that.
bool copied_slowly(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes, bool until_there) {
    const std::uint64_t line = cycles_of_a_line(from, bytes, [&] {
        std::memcpy(to, from, bytes);
        if (until_there) _mm_mfence();
    });
    if (line <= slow_line || line > cache.past_line) return line > slow_line;
    cache.past_line = static_cast<std::uint16_t>(cache.past_line - cache.past_line / 8);  // so that it is measured again
    return false;
}

// As store_past_the_cache; times its beginning each fourth time.  One that was interrupted counts as at most twice the last one.
void store_past_the_cache(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes, std::byte* also_to) {
    std::size_t timed = 0;
    if (cache.past_it % 4 == 0 && bytes >= short_bytes) {
        timed = std::min(beginning, bytes);
        const std::uint64_t line = cycles_of_a_line(from, timed, [&] { copy_past_the_cache(to, from, timed); });
        cache.past_line = static_cast<std::uint16_t>(std::min({line, 2 * std::max<std::uint64_t>(cache.past_line, slow_line), std::uint64_t{UINT16_MAX}}));
        if (also_to) std::memcpy(also_to, from, timed);
    }
    store_past_the_cache(to + timed, from + timed, bytes - timed, also_to ? also_to + timed : nullptr);
}

bool is_slow(PeersCache& cache) { return cache.past_it > 0 && cache.past_it-- > 0; }

void was_slow(PeersCache& cache) {
    const std::uint8_t most = cache.of_a_shared_core ? 4 : 7;
    cache.past_it = static_cast<std::uint8_t>(1 << cache.times_slow);
    cache.times_slow = std::min<std::uint8_t>(cache.times_slow + 1, most);
}

void was_fast(PeersCache& cache) { cache.times_slow = cache.usual = cache.usual_long = 0; }

}  // namespace

void copy_for_peer(PeersCache& cache, std::byte* to, const std::byte* from, std::size_t bytes, std::byte* also_to) {
    const auto also = [&](std::size_t done) { return also_to ? also_to + done : nullptr; };
    const auto go_past_the_cache = [&](std::size_t done) {
        store_past_the_cache(cache, to + done, from + done, bytes - done, also(done));
        _mm_sfence();
    };
    if (bytes < (cache.of_a_shared_core ? beginning : short_bytes)) return copy_there(to, from, bytes, also_to);
    if (is_slow(cache)) return go_past_the_cache(0);
    if (std::uint8_t& usual = bytes < long_bytes ? cache.usual : cache.usual_long; usual > 0) return static_cast<void>(--usual), copy_there(to, from, bytes, also_to);
    if (bytes < long_bytes) {
        if (cache.of_a_shared_core) return copy_there(to, from, bytes, also_to);
        if (copied_slowly(cache, to, from, bytes, true)) was_slow(cache);
        else was_fast(cache), cache.usual = usual_after_short;
        if (also_to) std::memcpy(also_to, from, bytes);
        return;
    }
    std::size_t done = 0;
    while (bytes - done >= beginning) {  // of a few lines the time would be that of looking at the clock
        const bool slow = copied_slowly(cache, to + done, from + done, beginning, false);
        if (also_to) std::memcpy(also(done), from + done, beginning);
        done += beginning;
        if (slow) {
            was_slow(cache);
            return go_past_the_cache(done);
        }
        const std::size_t untimed = std::min(std::max(done, 3 * beginning), bytes - done);
        copy_there(to + done, from + done, untimed, also(done));
        done += untimed;
    }
    copy_there(to + done, from + done, bytes - done, also(done));
    was_fast(cache), cache.usual_long = usual_after_long;
}

void combine_for_peer(PeersCache& cache, const Combiner& combine, const std::byte* left, const std::byte* right, std::byte* to, std::size_t bytes,
                      std::size_t element, std::byte* also_to) {
    // An operator of the program's costs by the call.
    if (also_to && (combine.context || element > made_at_a_time)) {
        combine.apply(left, right, also_to, bytes, combine.context);
        return copy_for_peer(cache, to, also_to, bytes);
    }
    alignas(64) std::byte made[beginning];
    const std::size_t piece = beginning / element * element;
    std::size_t done = 0;
    const auto make = [&](std::byte* into, std::size_t n) { combine.apply(left + done, right + done, into, n, combine.context); };
    // Makes the next n bytes apart from `to`; returns where they are.
    const auto made_apart = [&](std::size_t n) {
        std::byte* const into = also_to ? also_to + done : made;
        make(into, n);
        return into;
    };
    const auto make_usual = [&](std::size_t n) {
        if (!also_to) return make(to + done, n), static_cast<void>(done += n);
        for (const std::size_t end = done + n; done < end;) {
            const std::size_t some = std::min(made_at_a_time / element * element, end - done);
            std::memcpy(to + done, made_apart(some), some);
            done += some;
        }
    };
    const auto go_past_the_cache = [&] {
        bool is_first = true;
        for (std::size_t n; done < bytes; done += n, is_first = false) {
            n = std::min(also_to ? bytes : piece, bytes - done);
            const std::byte* const from = made_apart(n);
            if (is_first) store_past_the_cache(cache, to + done, from, n, nullptr);
            else store_past_the_cache(to + done, from, n);
        }
        _mm_sfence();
    };
    if (piece > 0 && bytes >= beginning && is_slow(cache)) return go_past_the_cache();
    while (piece > 0 && bytes - done >= long_bytes) {
        const bool slow = copied_slowly(cache, to + done, made_apart(piece), piece, false);
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

void copy_for_peer(PeersCache&, std::byte* to, const std::byte* from, std::size_t bytes, std::byte* also_to) { copy_there(to, from, bytes, also_to); }

void combine_for_peer(PeersCache&, const Combiner& combine, const std::byte* left, const std::byte* right, std::byte* to, std::size_t bytes, std::size_t,
                      std::byte* also_to) {
    combine.apply(left, right, also_to ? also_to : to, bytes, combine.context);
    if (also_to) std::memcpy(to, also_to, bytes);
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }

#endif

void copy_pages_together(std::byte* to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t page = 4096, turn = 128;
    std::size_t done = (page - reinterpret_cast<std::uintptr_t>(from) % page) % page;
    std::memcpy(to, from, done);
    for (; bytes - done >= pages_together; done += pages_together)
        for (std::size_t i = done; i < done + page; i += turn)
            for (std::size_t at = i; at < i + pages_together; at += page) std::memcpy(to + at, from + at, turn);
    std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace fanlight
