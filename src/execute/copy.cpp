#include "execute/copy.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "topology/machine.h"

#ifdef __SSE2__
#include <emmintrin.h>
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

void copy_past_the_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
    const std::size_t head = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
    std::memcpy(to, from, head);
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
    }
    // Before any flag that says that the bytes are there.
    _mm_sfence();
    std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    const bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes > own_cache() && apart) copy_past_the_cache(to, from, bytes);
    else std::memmove(to, from, bytes);
}

#else

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) { std::memmove(to, from, bytes); }

#endif

}  // namespace fanlight
