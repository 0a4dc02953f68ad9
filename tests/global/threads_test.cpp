// The ways inside a node that need no MPI, the units being threads: barrier, put with notification,
// lock, pool.  Run under ThreadSanitizer as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "execute/wait.h"
#include "fanlight/global.h"
#include "global/dissemination.h"
#include "global/numbers.h"
#include "global/pool.h"
#include "global/queue.h"
#include "global/table.h"

// What the header's put and get look at: one segment of two units.
static std::uint64_t memory[2][16];
static const fanlight_part parts[] = {{reinterpret_cast<char*>(memory[0]), sizeof memory[0]},
                                      {reinterpret_cast<char*>(memory[1]), sizeof memory[1]}};
static const fanlight_segment segment{1, 2, parts};
static const fanlight_segment* published[FANLIGHT_SEGMENTS] = {nullptr, &segment};
const fanlight_segment* const* const fanlight_segments = published;
#undef fanlight_put
#undef fanlight_get
// Theirs where the short way does not reach, which it must not be here.
extern "C" fanlight_code fanlight_put(fanlight_pointer, const void*, size_t) { return FANLIGHT_ERR_SEGMENT; }
extern "C" fanlight_code fanlight_get(void*, fanlight_pointer, size_t) { return FANLIGHT_ERR_SEGMENT; }

namespace fanlight::global {
namespace {

constexpr int rounds = 200;

template <class Body>
void on_units(int units, Body body) {
    std::vector<std::thread> threads;
    for (int u = 0; u < units; ++u)
        threads.emplace_back([&, u] {
            Waiter waiter(units, {});
            body(u, [&](int unit, const auto& ready) { waiter(unit, "a test", ready); });
        });
    for (auto& t : threads) t.join();
}

// What each unit wrote before it, in memory without locks, all see after it.
TEST(Barrier, OrdersPlainMemory) {
    for (const int units : {1, 2, 3, 5, 8}) {
        std::vector<std::uint64_t> counters(static_cast<std::size_t>(units) * 16);
        std::vector<int> written(static_cast<std::size_t>(units));
        std::atomic<int> wrong = 0;
        on_units(units, [&](int unit, const auto& wait) {
            std::uint64_t number = 0;
            const auto barrier = [&] {
                disseminate(unit, units, ++number,
                            [&](int u, std::size_t round) -> std::uint64_t& { return counters[static_cast<std::size_t>(u) * 16 + round]; },
                            wait);
            };
            for (int i = 1; i <= rounds; ++i) {
                written[static_cast<std::size_t>(unit)] = i;
                barrier();
                for (const int w : written) wrong += w != i;
                barrier();
            }
        });
        EXPECT_EQ(wrong, 0) << units << " units";
    }
}

// The bytes are there when the notification is.
TEST(Notification, BringsWhatWasPutBefore) {
    std::uint64_t told[2][16] = {};
    std::atomic<int> wrong = 0;
    on_units(2, [&](int unit, const auto& wait) {
        const fanlight_pointer there{1 - unit, 1, 0};
        const auto tell = [&](std::uint64_t n) { std::atomic_ref(told[1 - unit][0]).store(n, std::memory_order_release); };
        const auto await = [&](std::uint64_t n) {
            wait(1 - unit, [&] { return std::atomic_ref(told[unit][0]).load(std::memory_order_acquire) >= n; });
        };
        const auto send = [&](std::uint64_t i) {
            std::uint64_t line[16];
            for (std::uint64_t& word : line) word = 2 * i + static_cast<std::uint64_t>(unit);
            wrong += fanlight_put_inline(there, line, sizeof line) != FANLIGHT_OK;
            tell(i);
        };
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            if (unit == 0) send(i);
            await(i);
            std::uint64_t got[16];
            wrong += fanlight_get_inline(got, fanlight_pointer{unit, 1, 0}, sizeof got) != FANLIGHT_OK;
            for (const std::uint64_t word : got) wrong += word != 2 * i + static_cast<std::uint64_t>(1 - unit);
            if (unit == 1) send(i);
        }
    });
    EXPECT_EQ(wrong, 0);
}

struct Words {
    struct Unit {
        alignas(128) std::int64_t word[static_cast<std::size_t>(Word::end) / sizeof(std::int64_t)] = {};
    };
    mutable std::vector<Unit> units;
    std::atomic_ref<std::int64_t> at(int unit, Word word) const {
        return std::atomic_ref(units[static_cast<std::size_t>(unit)].word[static_cast<std::size_t>(word) / sizeof(std::int64_t)]);
    }
    std::int64_t exchange(int unit, Word word, std::int64_t value) const { return at(unit, word).exchange(value); }
    std::int64_t exchange_tail(std::int64_t value) const { return exchange(0, Word::tail, value); }
    std::int64_t load(int unit, Word word) const { return at(unit, word).load(); }
    std::int64_t replace_tail(std::int64_t from, std::int64_t to) const {
        at(0, Word::tail).compare_exchange_strong(from, to);
        return from;
    }
};

TEST(Lock, OneAtATime) {
    for (const int units : {1, 2, 3, 8}) {
        const Words words{std::vector<Words::Unit>(static_cast<std::size_t>(units))};
        int counter = 0, tried = 0;  // without a lock of their own
        on_units(units, [&](int unit, const auto& wait) {
            const Queue queue(words, unit);
            for (int i = 0; i < rounds; ++i) {
                queue.enter(wait);
                ++counter;
                queue.leave(wait);
                if (!queue.try_enter()) continue;
                ++tried;
                queue.leave(wait);
            }
        });
        EXPECT_EQ(counter, units * rounds);
        EXPECT_LE(tried, units * rounds);
        if (units == 1) {
            EXPECT_EQ(tried, rounds);
        }
    }
}

// No two pieces that are taken at a time share a byte, and all of it comes back.
TEST(PoolOfThreads, PiecesAreApart) {
    constexpr std::size_t bytes = 1 << 16;
    Pool pool(bytes, 128);
    std::vector<int> owner(bytes / 128, -1);
    std::atomic<int> wrong = 0;
    on_units(4, [&](int unit, const auto&) {
        for (int i = 0; i < rounds; ++i) {
            const std::size_t length = static_cast<std::size_t>(1 + (i * 37 + unit * 101) % 3000);
            const auto offset = pool.take(length);
            if (!offset) continue;
            const std::size_t first = *offset / 128, last = (*offset + length - 1) / 128;
            for (std::size_t k = first; k <= last; ++k) owner[k] = unit;
            std::this_thread::yield();
            for (std::size_t k = first; k <= last; ++k) wrong += owner[k] != unit;
            wrong += !pool.give(*offset);
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(pool.take(bytes), 0u);
    EXPECT_FALSE(pool.give(128));
}

TEST(Numbers, AreTheLeastThatAreFree) {
    Numbers<int> numbers;
    std::vector<int> things(70000);
    EXPECT_EQ(numbers.give(&things[0], 1), 1);
    EXPECT_EQ(numbers.give(&things[1], 1), 2);
    EXPECT_EQ(numbers.give(&things[2], -1), -1);
    EXPECT_EQ(numbers.find(2), &things[1]);
    EXPECT_EQ(numbers.find(0), nullptr);
    numbers.withdraw(1, &things[1]);  // another one's
    EXPECT_EQ(numbers.find(1), &things[0]);
    numbers.withdraw(1, &things[0]);
    EXPECT_EQ(numbers.find(1), nullptr);
    EXPECT_EQ(numbers.give(&things[3], 1), 1);
    numbers.put(0, &things[4]);
    for (int n = 3; n <= INT16_MAX; n += 1000) numbers.put(static_cast<std::int16_t>(n), &things[0]);
    EXPECT_EQ(numbers.give(&things[5], 1), 4);
    for (int n = 1; n <= INT16_MAX; ++n) numbers.put(static_cast<std::int16_t>(-n), &things[0]);
    EXPECT_EQ(numbers.give(&things[6], -1), 0);
    EXPECT_EQ(numbers.find(0), &things[4]);
}

// Two units, in each a thread for each of two teams that make something at the same time; whoever is the
// first there takes the number that the other one proposed.
TEST(Table, TeamsThatAskAtOneTimeAgree) {
    struct Thing {
        std::int32_t id;
    };
    const auto tables = std::make_unique<Table<Thing>[]>(2);
    std::int32_t proposed[2][2], from[2] = {0, 0};
    int rounds = 0;
    for (bool agreed[2] = {}; !(agreed[0] && agreed[1]) && rounds < 10; ++rounds) {
        for (int unit = 0; unit < 2; ++unit)
            for (const int team : {unit, 1 - unit})
                if (!agreed[team]) proposed[unit][team] = tables[unit].propose(from[team], team + 1);
        for (int team = 0; team < 2; ++team) {
            agreed[team] = proposed[0][team] == proposed[1][team];
            if (agreed[team]) continue;
            from[team] = std::max(proposed[0][team], proposed[1][team]);
            for (int unit = 0; unit < 2; ++unit) tables[unit].withdraw(proposed[unit][team]);
        }
    }
    EXPECT_EQ(rounds, 2);
}

TEST(Table, EachNumberIsProposedOnce) {
    struct Thing {
        std::int32_t id;
    };
    const auto table = std::make_unique<Table<Thing>>();
    std::vector<bool> seen(Table<Thing>::slots);
    for (int i = 0; i < 2000; ++i) {  // some rounds of each 64th
        const std::int32_t id = table->propose(1000, 7);
        ASSERT_GT(id, 0);
        ASSERT_FALSE(seen[static_cast<std::size_t>(id % Table<Thing>::slots)]);
        seen[static_cast<std::size_t>(id % Table<Thing>::slots)] = true;
    }
}

}  // namespace
}  // namespace fanlight::global
