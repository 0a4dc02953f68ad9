// Small numbers of a team's segments, for DART's pointers, which have 16 bits for them: 1, 2, ... and -1, -2, ...; always
// the lowest that is free.  Units that make and free things in the same order get the same numbers, without communication.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace fanlight::global {

template <class T>
class Numbers {
public:
    Numbers() = default;
    Numbers(const Numbers&) = delete;
    ~Numbers() {
        for (std::atomic<Row*>& row : rows_) delete row.load();
    }

    // Without a lock: a program's every put looks its segment up.
    T* find(std::int16_t number) const {
        const auto n = static_cast<std::uint16_t>(number);
        const Row* const row = rows_[n / width].load(std::memory_order_acquire);
        return row ? (*row)[n % width].load(std::memory_order_acquire) : nullptr;
    }

    // sign: of the number, 1 or -1.  0 where there is none left.
    std::int16_t give(T* thing, int sign) {
        for (int n = 1; n <= INT16_MAX; ++n) {
            const auto number = static_cast<std::int16_t>(sign * n);
            if (find(number)) continue;
            put(number, thing);
            return number;
        }
        return 0;
    }
    // 0 is for a thing that all units have from the start.
    void put(std::int16_t number, T* thing) {
        const auto n = static_cast<std::uint16_t>(number);
        std::atomic<Row*>& row = rows_[n / width];
        if (!row.load(std::memory_order_relaxed)) row.store(new Row{}, std::memory_order_release);
        (*row.load(std::memory_order_relaxed))[n % width].store(thing, std::memory_order_release);
    }
    void withdraw(std::int16_t number, const T* thing) {
        if (find(number) == thing) put(number, nullptr);
    }

private:
    static constexpr std::size_t width = 256;
    using Row = std::array<std::atomic<T*>, width>;
    std::array<std::atomic<Row*>, 65536 / width> rows_{};
};

}  // namespace fanlight::global
