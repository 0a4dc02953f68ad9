// Runs a function on each member of a group, the members being threads.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "execute/group.h"

namespace fanlight::testing {

struct Aligned {
    explicit Aligned(std::size_t bytes)
        : size(bytes), base(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
        std::fill_n(base, bytes, std::byte{0});
    }
    ~Aligned() { std::free(base); }
    std::size_t size;
    std::byte* base;
};

// Runs `body(group)` on each of `size` threads over one segment; returns the first complaint.
// scratch: of each member of a group that runs on mapped buffers; cores: that they share, 0: each has its own.
template <class Body>
std::string on_threads(int size, bool single_copy, Body body, std::size_t scratch = 0, int cores = 0) {
    const std::size_t bytes = (Group::segment_bytes(size) + 4095) / 4096 * 4096;
    Aligned segment(bytes + scratch * static_cast<std::size_t>(size));
    std::vector<std::unique_ptr<Group>> groups;
    for (int r = 0; r < size; ++r)
        groups.push_back(std::make_unique<Group>(std::span(segment.base, bytes), r, size, single_copy, Waiter::Hooks{}, cores ? size : 0, cores,
                                                 SharedSlots::Capacity::many, std::span(segment.base + bytes, segment.size - bytes)));
    if (std::ranges::all_of(groups, [](const auto& group) { return group->reserve_more_slots(); }))
        for (const auto& group : groups) group->take_more_slots();
    std::string wrong;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int r = 0; r < size; ++r)
        threads.emplace_back([&, r] {
            const std::string w = body(*groups[static_cast<std::size_t>(r)]);
            if (!w.empty()) {
                const std::lock_guard lock(mutex);
                if (wrong.empty()) wrong = w;
            }
        });
    for (auto& t : threads) t.join();
    return wrong;
}

}  // namespace fanlight::testing
