#include "memory/pages.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace fanlight {
namespace {

// Blocks lie apart, are aligned, keep their length; what is free becomes one again.
TEST(Pages, BlocksNeverOverlapWhateverIsTakenGivenAndResized) {
    std::mt19937 random(7);
    constexpr Page all = 5000;
    Pages pages;
    ASSERT_TRUE(pages.create(all));
    std::map<Page, Page> blocks;
    const auto apart = [&](Page first, Page length) {
        const auto behind = blocks.upper_bound(first);
        return first >= 1 && first + length <= all && (behind == blocks.end() || first + length <= behind->first) &&
               (behind == blocks.begin() || std::prev(behind)->first + std::prev(behind)->second <= first);
    };
    int refused = 0, longer = 0;
    for (int i = 0; i < 200'000; ++i) {
        const Page length = 1 + static_cast<Page>(random() % (random() % 8 ? 40 : 700));
        const auto some = blocks.empty() ? blocks.end() : std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(blocks.size(), 50)));
        const auto what = random() % 8;
        if (what < 4) {
            const Page alignment = random() % 4 ? 1 : Page{1} << random() % 6;
            const Page first = pages.take(length, alignment);
            if (first == 0) {
                ++refused;
                continue;
            }
            ASSERT_TRUE(apart(first, length));
            ASSERT_EQ(first % alignment, 0u);
            blocks[first] = length;
        } else if (some == blocks.end()) {
            continue;
        } else if (what < 7) {
            pages.give(some->first);
            ASSERT_EQ(pages.length(some->first), 0u);
            blocks.erase(some);
        } else {
            const auto [first, had] = *some;
            blocks.erase(some);
            const bool done = pages.resize(first, length);
            ASSERT_TRUE(done || length > had);
            longer += done && length > had;
            ASSERT_TRUE(apart(first, done ? length : had));
            blocks[first] = done ? length : had;
        }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(longer, 100);
    std::size_t seen = 0;
    for (Pages::Block block = pages.next_block(1); block.pages; block = pages.next_block(block.first + block.pages), ++seen)
        ASSERT_EQ(blocks.at(block.first), block.pages);
    EXPECT_EQ(seen, blocks.size());
    for (const auto& [first, length] : blocks) {
        ASSERT_EQ(pages.length(first), length);
        ASSERT_TRUE(length < 3 || pages.length(first + 1) == 0);
        pages.give(first);
    }
    EXPECT_EQ(pages.take(all - 1, 1), 1u) << "what is free is not one extent";
}

// The last extent is long enough, but stands in a list behind too many that are not: what is left of it stays free.
TEST(Pages, NothingOfTheLastExtentIsLost) {
    Pages pages;
    ASSERT_TRUE(pages.create(10'000));
    std::vector<Page> given;
    for (int i = 0; i < 9; ++i) {
        given.push_back(pages.take(64, 1));
        ASSERT_TRUE(pages.take(16, 1));
    }
    const Page last = pages.take(71, 1);
    pages.give(last);
    for (const Page block : given) pages.give(block);
    EXPECT_EQ(pages.take(65, 1), last);
    const Page behind = pages.take(6, 1);
    ASSERT_EQ(behind, last + 65);
    EXPECT_EQ(pages.next_block(last + 65).first, behind);
}

TEST(Pages, TakesTheShortExtentAndLeavesTheLongOneWhole) {
    Pages pages;
    ASSERT_TRUE(pages.create(10'000));
    const Page longer = pages.take(1000, 1), a = pages.take(1, 1), shorter = pages.take(20, 1), b = pages.take(1, 1);
    ASSERT_TRUE(a && b);
    pages.give(shorter);
    pages.give(longer);
    EXPECT_EQ(pages.take(18, 1), shorter);
    EXPECT_EQ(pages.take(1000, 1), longer);
    EXPECT_EQ(pages.take(20'000, 1), 0u);
    EXPECT_EQ(pages.take(0, 1), 0u);
}

TEST(PageSet, AgreesWithASet) {
    std::mt19937 random(11);
    constexpr Page all = 1000;
    PageSet bits;
    ASSERT_TRUE(bits.create(all));
    std::set<Page> set;
    for (int i = 0; i < 20'000; ++i) {
        const Page first = random() % all, pages = random() % std::min<Page>(all - first, random() % 4 ? 30 : 400) + 1;
        const auto from = set.lower_bound(first), to = set.lower_bound(first + pages);
        const auto had = static_cast<Page>(std::distance(from, to));
        if (random() % 2) {
            ASSERT_EQ(bits.insert(first, pages), pages - had);
            for (Page p = first; p < first + pages; ++p) set.insert(p);
        } else {
            const Page begin = had ? *from : 0, end = had ? *std::prev(to) + 1 : 0;
            const auto removed = bits.remove(first, pages);
            ASSERT_EQ(removed.count, had);
            ASSERT_EQ(removed.within.first, begin);
            ASSERT_EQ(removed.within.pages, end - begin);
            set.erase(from, to);
        }
        const Page end = random() % (all + 1);
        Page last = end;
        while (last > 0 && !set.count(last - 1)) --last;
        Page begin = last;
        while (begin > 0 && set.count(begin - 1)) --begin;
        const auto run = bits.last(end);
        ASSERT_EQ(run.pages, last - begin);
        ASSERT_TRUE(run.pages == 0 || run.first == begin);
    }
}

}  // namespace
}  // namespace fanlight
