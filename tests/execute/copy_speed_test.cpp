#include "execute/copy_speed.h"

#include <gtest/gtest.h>

namespace fanlight {
namespace {

// In microseconds; of 64 KiB, and of 16 KiB.
std::size_t from(double twice, double once, double once_short) { return CopySpeed::from_times(64 * 1024, twice, once, once_short); }

TEST(CopySpeed, SingleCopyPaysFromWhereBothTakeAsLong) {
    // 2 us and 8 us more for each 64 KiB, against four fifths of 20 us for each 64 KiB.
    EXPECT_NEAR(static_cast<double>(from(20, 10, 4)), 2.0 / 8 * 65536, 1);
    EXPECT_EQ(from(8, 8, 2.5), CopySpeed::never) << "not clearly";
    EXPECT_EQ(from(33, 10, 4), CopySpeed::earliest);
    // Two threads of one core.
    EXPECT_EQ(from(3.5, 8, 3), CopySpeed::never);
}

TEST(CopySpeed, ASlowKernelIsNotAsked) {
    EXPECT_EQ(from(3, 10, 4), 0u);
    EXPECT_NE(from(4, 10, 4), 0u);
}

}  // namespace
}  // namespace fanlight
