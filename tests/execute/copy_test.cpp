#include "execute/copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "execute/run.h"

namespace fanlight {
namespace {

constexpr std::size_t room = 3 << 20;
constexpr std::byte untouched{0xa5};

// Where the first store to each page takes long, as to lines that another core has; or not.
enum class Pages { fresh, used };

std::byte other_in_each_page(std::size_t i) { return static_cast<std::byte>((i * 31 >> 3) + (i >> 12) * 37); }

template <class Copy>
void copies(Copy&& copy, Pages pages) {
    std::vector<std::byte> from(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = other_in_each_page(i);
    for (const std::size_t bytes : {0ul, 1ul, 63ul, 2047ul, 2048ul, 4096ul, 8191ul, 8192ul, 8193ul, 12289ul, 16384ul, 40001ul, 65536ul, 65537ul, 262144ul, (2ul << 20) + 77})
        for (const std::size_t shift : {0ul, 1ul, 63ul}) {
            void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ASSERT_NE(mapped, MAP_FAILED);
            auto* const to = static_cast<std::byte*>(mapped);
            const std::byte beyond = pages == Pages::used ? untouched : std::byte{};
            if (pages == Pages::used) std::memset(to, static_cast<int>(untouched), room);
            copy(to + shift, from.data() + 7, bytes);
            EXPECT_TRUE(std::equal(to + shift, to + shift + bytes, from.data() + 7)) << bytes << " bytes at " << shift;
            EXPECT_TRUE(std::all_of(to, to + shift, [&](std::byte b) { return b == beyond; })) << bytes << " bytes at " << shift;
            EXPECT_TRUE(std::all_of(to + shift + bytes, to + room, [&](std::byte b) { return b == beyond; })) << bytes << " bytes at " << shift;
            munmap(mapped, room);
        }
}

TEST(Copy, ForAPeerCopiesAllAndNothingElse) {
    // Of many copies to fresh pages some are not measured.
    PeersCache used, fresh;
    copies([&](std::byte* to, const std::byte* from, std::size_t bytes) { copy_for_peer(used, to, from, bytes); }, Pages::used);
    copies([&](std::byte* to, const std::byte* from, std::size_t bytes) { copy_for_peer(fresh, to, from, bytes); }, Pages::fresh);
}

TEST(Copy, OfBothCopiesBothAndNothingElse) {
    std::vector<std::byte> from(room), message(room), other(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = other_in_each_page(i);
    for (const std::size_t bytes : {0ul, 1ul, 63ul, 64ul, 65ul, 4095ul, 65536ul, 65537ul})
        for (const std::size_t other_bytes : {0ul, 1ul, 64ul, 4000ul, 65536ul, 70001ul})
            for (const std::size_t shift : {0ul, 1ul, 63ul}) {
                std::fill(message.begin(), message.end(), untouched);
                std::fill(other.begin(), other.end(), untouched);
                auto* const line = message.data() + (64 - reinterpret_cast<std::uintptr_t>(message.data()) % 64) % 64;
                copy_both({line + shift, from.data() + 7, bytes}, {other.data() + 3, from.data() + 99, other_bytes});
                const auto is_there = [](const std::vector<std::byte>& all, const std::byte* to, const std::byte* source, std::size_t n) {
                    return std::equal(to, to + n, source) && std::count(all.begin(), all.end(), untouched) - std::count(source, source + n, untouched) == static_cast<std::ptrdiff_t>(room - n);
                };
                EXPECT_TRUE(is_there(message, line + shift, from.data() + 7, bytes)) << bytes << " and " << other_bytes << " bytes at " << shift;
                EXPECT_TRUE(is_there(other, other.data() + 3, from.data() + 99, other_bytes)) << bytes << " and " << other_bytes << " bytes at " << shift;
            }
}

// The digits of a decimal number do not commute, and an element is combined as a whole: its first byte is the sum of all.
void of_elements(const void* left, const void* right, void* into, std::size_t bytes, const void* context) {
    const std::size_t element = *static_cast<const std::size_t*>(context);
    ASSERT_EQ(bytes % element, 0u);
    for (std::size_t at = 0; at < bytes; at += element) {
        const auto *l = static_cast<const std::uint8_t*>(left) + at, *r = static_cast<const std::uint8_t*>(right) + at;
        std::vector<std::uint8_t> made(element);
        for (std::size_t i = 0; i < element; ++i) made[i] = static_cast<std::uint8_t>(10 * l[i] + r[i]);
        for (std::size_t i = 1; i < element; ++i) made[0] = static_cast<std::uint8_t>(made[0] + made[i]);
        std::copy(made.begin(), made.end(), static_cast<std::uint8_t*>(into) + at);
    }
}

TEST(Copy, CombinesForAPeerWholeElementsInOrderAndNothingElse) {
    PeersCache cache;
    for (const std::size_t element : {1ul, 8ul, 24ul, 4097ul})
        for (const std::size_t elements : {0ul, 1ul, 8192 / element, 8192 / element + 1, 12289 / element, 300000 / element})
            for (const Pages pages : {Pages::fresh, Pages::used})
                for (const char in_place : {'n', 'l', 'r'}) {
                    const std::size_t bytes = elements * element;
                    std::vector<std::byte> left(bytes), right(bytes), expected(bytes);
                    for (std::size_t i = 0; i < bytes; ++i) left[i] = other_in_each_page(i), right[i] = static_cast<std::byte>(i * 7 >> 2);
                    const Combiner combiner{of_elements, &element};
                    of_elements(left.data(), right.data(), expected.data(), bytes, &element);
                    void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                    ASSERT_NE(mapped, MAP_FAILED);
                    auto* const to = static_cast<std::byte*>(mapped);
                    if (pages == Pages::used) std::memset(to, 0, room);
                    if (in_place != 'n') std::ranges::copy(in_place == 'l' ? left : right, to);
                    combine_for_peer(cache, combiner, in_place == 'l' ? to : left.data(), in_place == 'r' ? to : right.data(), to, bytes, element);
                    EXPECT_TRUE(std::equal(to, to + bytes, expected.data())) << elements << " of " << element << ' ' << in_place;
                    EXPECT_TRUE(std::all_of(to + bytes, to + room, [](std::byte b) { return b == std::byte{}; })) << elements << " of " << element;
                    munmap(mapped, room);
                }
}

#ifdef __SSE2__
// Each time for twice as many copies, up to 128; measured at once where it is fast.  What goes past the caches is fast here,
// since those pages were used before.
TEST(Copy, IsNotMeasuredForAWhileWhereItWasSlow) {
    std::vector<std::byte> from(16384);
    constexpr std::size_t many = 512 * 16384;
    void* const mapped = mmap(nullptr, many, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const fresh = static_cast<std::byte*>(mapped);
    PeersCache cache;
    std::vector<int> unmeasured;
    for (std::size_t at = 0; at + from.size() <= many; at += from.size()) {
        const int before = cache.past_it;
        for (std::size_t page = before == 0 ? 4096 : 0; page < from.size(); page += 4096) fresh[at + page] = untouched;
        cache.past_line = 0;  // whatever comes between
        copy_for_peer(cache, fresh + at, from.data(), from.size());
        if (before == 0) unmeasured.push_back(cache.past_it);
        else EXPECT_EQ(cache.past_it, before - 1);
    }
    ASSERT_GT(unmeasured.size(), 8u);
    unmeasured.resize(9);
    EXPECT_EQ(unmeasured, (std::vector<int>{1, 2, 4, 8, 16, 32, 64, 128, 128}));
    for (int i = 0; i < 20 && cache.times_slow > 0; ++i) {
        cache.past_it = 0;
        copy_for_peer(cache, fresh, from.data(), from.size());
    }
    EXPECT_EQ(cache.times_slow, 0) << "of used pages";
    munmap(mapped, many);
}

// Every page is fresh, so every copy is slow; whether what went past the caches was slower still is said here.
TEST(Copy, IsUsualWherePastTheCachesTakesLonger) {
    std::vector<std::byte> from(16384);
    constexpr std::size_t many = 512;
    void* const mapped = mmap(nullptr, many * from.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* to = static_cast<std::byte*>(mapped);
    const Combiner left_one{[](const void* left, const void*, void* into, std::size_t bytes, const void*) { std::memcpy(into, left, bytes); }, nullptr};
    const auto one_more = [&](PeersCache& cache, bool combined) {
        if (combined) combine_for_peer(cache, left_one, from.data(), from.data(), to, from.size(), 8);
        else copy_for_peer(cache, to, from.data(), from.size());
        to += from.size();
    };
    for (const bool combined : {false, true}) {
        PeersCache cache{.past_line = 4000};
        one_more(cache, combined);
        EXPECT_EQ(cache.past_it, 0);
        EXPECT_EQ(cache.past_line, 3500) << "or it would never be measured again";
        for (std::size_t i = 0; i < many / 2 - 4 && cache.past_it == 0; ++i) one_more(cache, combined);
        EXPECT_EQ(cache.past_it, 1) << "a line past the caches in " << cache.past_line << " cycles";
        cache.past_line = 0;
        one_more(cache, combined);
        EXPECT_GT(cache.past_line, 0) << "measured";
        EXPECT_LE(cache.past_line, 40) << "as if it had been interrupted";
    }
    munmap(mapped, many * 16384);
}

// What is left after the last stretch that is timed says nothing.
TEST(Copy, AFewBytesMoreAreNotSlow) {
    std::vector<std::byte> from(16384 + 8), to(from.size());
    PeersCache cache;
    bool is_fast = false;
    for (int i = 0; i < 20 && !is_fast; ++i) {
        cache = {};
        copy_for_peer(cache, to.data(), from.data(), from.size());
        is_fast = cache.past_it == 0;
    }
    EXPECT_TRUE(is_fast) << "of memory that was used before";
}

// Fast ones each 16th time.
TEST(Copy, ShortOnesAreMeasuredNowAndThen) {
    std::vector<std::byte> from(4096);
    void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const fresh = static_cast<std::byte*>(mapped);
    PeersCache cache;
    copy_for_peer(cache, fresh, from.data(), 2047);
    EXPECT_EQ(cache.past_it + cache.usual, 0) << "too short";
    copy_for_peer(cache, fresh + 4096, from.data(), 2048);
    EXPECT_EQ(cache.past_it, 1) << "a page that was not there";
    for (int i = 0; i < 1000 && cache.usual == 0; ++i) {
        copy_for_peer(cache, fresh, from.data(), from.size());
        ASSERT_TRUE(std::equal(from.begin(), from.end(), fresh)) << "read, as by a peer: what went past the caches is in one again";
    }
    for (int usual = 15; usual >= 0; --usual) {
        EXPECT_EQ(cache.usual, usual);
        copy_for_peer(cache, fresh + (usual ? std::size_t(usual) * 8192 : 0), from.data(), from.size());
    }
    EXPECT_TRUE(cache.usual == 15 || cache.past_it > 0) << "measured once more";
    munmap(mapped, room);
}
#endif

TEST(Copy, PastTheCacheCopiesAllAndNothingElse) { copies(copy_bytes, Pages::used); }

}  // namespace
}  // namespace fanlight
