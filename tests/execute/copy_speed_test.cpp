#include "execute/copy_speed.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace fanlight {
namespace {

// In microseconds; of 64 KiB, and of 16 KiB.
std::size_t from(double twice, double once, double once_short) { return CopySpeed::from_times(64 * 1024, twice, once, once_short); }

TEST(CopySpeed, SingleCopyPaysFromWhereBothTakeAsLong) {
    // 2 us and 8 us more for each 64 KiB, against 20 us for each 64 KiB.
    EXPECT_NEAR(static_cast<double>(from(20, 10, 4)), 2.0 / 12 * 65536, 1);
    // Cores without a common cache, as measured.
    EXPECT_EQ(from(33, 10.8, 4.5), CopySpeed::earliest);
    // Two threads of one core.
    EXPECT_EQ(from(3.5, 8, 3), CopySpeed::latest_on_shared_cores);
}

TEST(CopySpeed, RanksWithACoreEachCopyOnceSoonerThanThoseThatShareCores) {
    constexpr std::size_t never = CopySpeed::latest_on_shared_cores, latest = CopySpeed::latest;
    EXPECT_EQ(CopySpeed::agreed(never, never, false), latest);
    EXPECT_EQ(CopySpeed::agreed(never, never, true), never);
    // Where it pays for any two of them; also before it was measured.
    EXPECT_EQ(CopySpeed::agreed(latest / 2, never, true), latest);
    EXPECT_EQ(CopySpeed::agreed(0, 0, true), 0u);
    // Nobody measured across cores.
    EXPECT_EQ(CopySpeed::agreed(SIZE_MAX, never, true), latest);
    EXPECT_EQ(CopySpeed::agreed(9000, 10000, true), 10000u);
}

TEST(CopySpeed, ASlowKernelIsNotAsked) {
    EXPECT_EQ(from(3, 10, 4), 0u);
    EXPECT_NE(from(4, 10, 4), 0u);
}

}  // namespace
}  // namespace fanlight
