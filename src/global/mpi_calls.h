// MPI's calls, as global memory makes them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "collective/mpi_header.h"

namespace fanlight::global {

// MPI counts in int: act(first, number) for one piece after the other, until one fails.
template <class Act>
int in_pieces(std::size_t count, Act&& act) {
    constexpr std::size_t longest = std::size_t{1} << 30;
    int code = MPI_SUCCESS;
    for (std::size_t i = 0; i < count && code == MPI_SUCCESS; i += longest)
        code = act(i, static_cast<int>(std::min(longest, count - i)));
    return code;
}

// Around a call by which one unit learns what another one has done.  The loads and stores with which it reaches memory of
// its node stay on their side of it, which MPI, knowing nothing of them, does not promise.
struct Fenced {
    Fenced() { std::atomic_thread_fence(std::memory_order_release); }
    ~Fenced() { std::atomic_thread_fence(std::memory_order_acquire); }
    Fenced(const Fenced&) = delete;
};

}  // namespace fanlight::global
