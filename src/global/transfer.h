// Moving bytes between this process's memory and a segment.
#pragma once

#include <atomic>
#include <cstring>

#include "execute/copy.h"
#include "global/error.h"
#include "global/layout.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

enum class Direction { put, get };
enum class Completion { blocking, flushed_later, handle };

// `local` is read by a put and written by a get.  handle: only with Completion::handle; null where
// the operation is complete.
fanlight_code transfer(Direction, Completion, fanlight_pointer, const Layout& remote, void* local,
                       const Layout& local_layout, fanlight_handle* handle = nullptr);

// As one load and one store where there are such: a reader sees the old value or the new one.
inline void copy_short(void* to, const void* from, std::size_t bytes) {
    switch (bytes) {
        case 8:
            std::memcpy(to, from, 8);
            break;
        case 4:
            std::memcpy(to, from, 4);
            break;
        default:
            std::memcpy(to, from, bytes);
    }
}

// The short ways, of contiguous bytes that loads and stores reach.
inline void store(const Target& to, const void* from, std::size_t bytes) {
    std::atomic_thread_fence(std::memory_order_release);
    if (bytes <= 8) return copy_short(to.address(), from, bytes);
    PeersCache cache;  // units are put to in any order
    copy_for_peer(cache, reinterpret_cast<std::byte*>(to.address()), static_cast<const std::byte*>(from), bytes);
}
inline void load(void* to, const Target& from, std::size_t bytes) {
    copy_short(to, from.address(), bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    progress_now_and_then();
}

}  // namespace fanlight::global
