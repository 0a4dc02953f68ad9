// Things with numbers that all members of a team agree on: segments, teams.
//
// The lower 15 bits of a number are its slot in the table (DART's pointers have room for no more).  The others count how
// often the slots have been used, so the number of a freed thing does not soon mean something else.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace fanlight::global {

template <class T>
class Table {
public:
    static constexpr std::int32_t slots = 1 << 15;

    T* find(std::int32_t id) const {
        if (id < 0) return nullptr;
        T* const found = in_slot(id);
        return found && found->id == id ? found : nullptr;
    }
    T* in_slot(std::int32_t id) const {
        return entries_[static_cast<std::size_t>(id & (slots - 1))].load(std::memory_order_acquire);
    }
    void put(T* thing) {
        slot(thing->id).store(thing, std::memory_order_release);
        if (thing->id >= next_.load(std::memory_order_relaxed)) next_.store(wrapped(std::int64_t{thing->id} + 1), std::memory_order_relaxed);
        withdraw(thing->id);
    }
    void take(const T* thing) { slot(thing->id).store(nullptr, std::memory_order_release); }

    // The first number from `from` on whose slot is free; -1 where none is.  0 is never proposed:
    // it is what all units have from the start.  Until it is put or withdrawn no other thread, whose
    // team may be making something as well, gets it.
    // Where the units proposed different ones, `from` is the greatest of them and those of each 64th number
    // come first, by `asker`: two teams whose units take each other's would go on for ever.
    std::int32_t propose(std::int32_t from = 0, std::int32_t asker = 0) {
        const std::int32_t stride = from > 0 ? 64 : 1, rows = slots / stride;
        std::int64_t first = std::max(from, next_.load(std::memory_order_relaxed));
        first += ((asker - first) % stride + stride) % stride;
        for (std::int32_t i = 0; i < slots; ++i) {
            const std::int32_t id = wrapped(first + i % rows * stride + i / rows);
            if ((id & (slots - 1)) == 0 || proposed(id).exchange(true)) continue;
            if (!in_slot(id)) return id;
            withdraw(id);
        }
        return -1;
    }
    void withdraw(std::int32_t id) {
        if (id > 0) proposed(id).store(false);
    }

    // By rising number: units that free several of them meet in the same order.
    std::vector<T*> all() const {
        std::vector<T*> result;
        for (const std::atomic<T*>& entry : entries_)
            if (T* thing = entry.load(std::memory_order_acquire)) result.push_back(thing);
        std::ranges::sort(result, {}, [](const T* thing) { return thing->id; });
        return result;
    }

private:
    static std::int32_t wrapped(std::int64_t id) { return static_cast<std::int32_t>(id > INT32_MAX ? id - INT32_MAX : id); }
    std::atomic<T*>& slot(std::int32_t id) { return entries_[static_cast<std::size_t>(id & (slots - 1))]; }
    std::atomic<bool>& proposed(std::int32_t id) { return proposed_[static_cast<std::size_t>(id & (slots - 1))]; }

    std::array<std::atomic<T*>, slots> entries_{};
    std::array<std::atomic<bool>, slots> proposed_{};
    std::atomic<std::int32_t> next_ = 1;
};

}  // namespace fanlight::global
