// Inline versions of fanlight_put and fanlight_get: where loads and stores reach the memory, they check the pointer
// and copy.  Everything else calls the library.
#ifndef FANLIGHT_GLOBAL_INLINE_H
#define FANLIGHT_GLOBAL_INLINE_H

#include <string.h>

#include "fanlight/global.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a pointer is checked with.  Segment number n is in entry n % FANLIGHT_SEGMENTS.
typedef struct fanlight_part {
    char *address;  // where this process reaches it; null: not by loads and stores
    size_t bytes;
} fanlight_part;
typedef struct fanlight_segment {
    int32_t id;
    uint32_t units;
    const fanlight_part *parts;
} fanlight_segment;
#define FANLIGHT_SEGMENTS 32768
FANLIGHT_API extern const fanlight_segment *const *const fanlight_segments;

#if defined(__GNUC__) && !defined(FANLIGHT_NO_INLINE)
// Null where these bytes are not to be reached so.
static inline void *fanlight_direct(fanlight_pointer p, size_t bytes)
{
    const fanlight_segment *s =
        __atomic_load_n(&fanlight_segments[(uint32_t)p.segment % FANLIGHT_SEGMENTS], __ATOMIC_ACQUIRE);
    if (!s || s->id != p.segment || (uint32_t)p.unit >= s->units)
        return NULL;
    const fanlight_part *part = s->parts + p.unit;
    if (!part->address || bytes > part->bytes || p.offset > part->bytes - bytes)
        return NULL;
    return part->address + p.offset;
}

static inline fanlight_code fanlight_put_inline(fanlight_pointer to, const void *from, size_t bytes)
{
    void *there = fanlight_direct(to, bytes);
    // Of more than that the library stores past the cache what another core's cache has.
    if (__builtin_expect(!there || !from || bytes > 4096, 0))
        return fanlight_put(to, from, bytes);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(there, from, bytes);
    return FANLIGHT_OK;
}

static inline fanlight_code fanlight_get_inline(void *to, fanlight_pointer from, size_t bytes)
{
    const void *there = fanlight_direct(from, bytes);
    if (__builtin_expect(!there || !to || bytes > PTRDIFF_MAX, 0))
        return fanlight_get(to, from, bytes);
    memcpy(to, there, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return FANLIGHT_OK;
}

// Variadic, because a compound literal may contain commas.
#define fanlight_put(...) fanlight_put_inline(__VA_ARGS__)
#define fanlight_get(...) fanlight_get_inline(__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
