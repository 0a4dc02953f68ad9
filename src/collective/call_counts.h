// What the threads of this rank have counted, for the report (report.h) and for MPI_T.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective/reason.h"
#include "collective/report.h"
#include "collective/trace_file.h"

namespace fanlight::report {

// Classes of sizes: 0, then powers of 4.
inline int class_of(std::size_t bytes) { return bytes == 0 ? 0 : 1 + (std::bit_width(bytes) - 1) / 2; }

inline void add(Count& sum, const Count& one) {
    sum.calls += one.calls;
    sum.bytes += one.bytes;
    sum.ns += one.ns;
}

// By pointers while calls are counted: the names are literals and registry rows.
struct Key {
    const char* operation;
    const char* algorithm;
    const char* transport;
    Reason reason;
    int size_class;
    friend bool operator==(const Key&, const Key&) = default;
};
struct Hash {
    std::size_t operator()(const Key& k) const {
        std::uint64_t h = 0;
        for (const std::uint64_t v : {reinterpret_cast<std::uint64_t>(k.operation), reinterpret_cast<std::uint64_t>(k.algorithm),
                                      static_cast<std::uint64_t>(k.reason) << 8 | static_cast<std::uint64_t>(k.size_class)}) {
            h = (h ^ v) * 0x9e3779b97f4a7c15u;
            h ^= h >> 32;
        }
        return h;
    }
};
// Written by one thread, read by any.
class Counter {
public:
    void add(std::size_t bytes, std::int64_t ns) {
        grow(calls_, 1);
        grow(bytes_, bytes);
        grow(ns_, ns);
    }
    Count now() const { return {calls_.load(order), bytes_.load(order), ns_.load(order)}; }

private:
    static constexpr auto order = std::memory_order_relaxed;
    template <class T>
    static void grow(std::atomic<T>& sum, std::type_identity_t<T> by) { sum.store(sum.load(order) + by, order); }

    std::atomic<std::uint64_t> calls_{0}, bytes_{0};
    std::atomic<std::int64_t> ns_{0};
};

// What one thread counts.  It takes a lock for a new row alone, which others look for meanwhile.
struct Book {
    std::mutex rows;
    std::unordered_map<Key, Counter, Hash> calls;
    std::map<int, Count> waits;  // by the peer
    std::pair<const Key, Counter>* last = nullptr;
    trace_file::Events events;

    Counter& operator[](const Key& key) {
        if (!last || !(last->first == key)) last = &row(key);
        return last->second;
    }

private:
    std::pair<const Key, Counter>& row(const Key& key) {
        if (const auto it = calls.find(key); it != calls.end()) return *it;
        const std::scoped_lock lock(rows);
        return *calls.try_emplace(key).first;
    }
};

struct Books {
    std::mutex mutex;
    std::deque<Book> all;
    std::vector<Book*> nobodys;  // whose threads have ended
    std::map<std::pair<int, Reason>, std::uint64_t> communicators;
    std::vector<std::pair<Found, double>> found;
};
Books& books();

}  // namespace fanlight::report
