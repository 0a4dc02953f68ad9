#include "execute/faster_way.h"

#include <gtest/gtest.h>

namespace fanlight {
namespace {

// How often of `turns` the second one is taken, if they take that long.
int seconds(FasterWay& way, int turns, float first, float second) {
    int taken = 0;
    for (int i = 0; i < turns; ++i) {
        taken += way.is_second();
        way.took(FasterWay::Time(way.is_second() ? second : first));
    }
    return taken;
}

TEST(FasterWay, IsTaken) {
    FasterWay way, other;
    EXPECT_EQ(seconds(way, 8, 100, 50), 4) << "both are tried";
    EXPECT_EQ(seconds(way, 56, 100, 50), 56);
    EXPECT_EQ(seconds(way, 64, 100, 50), 63) << "now and then the slower one";
    seconds(other, 8, 50, 100);
    EXPECT_EQ(seconds(other, 120, 50, 100), 1);
}

TEST(FasterWay, ChangesWhenTheOtherOneIsFaster) {
    FasterWay way;
    seconds(way, 64, 100, 50);
    EXPECT_LT(seconds(way, 64, 100, 200), 20) << "it became slower";
    FasterWay other;
    seconds(other, 64, 100, 150);
    EXPECT_EQ(seconds(other, 64, 100, 50), 64) << "the other one became faster";
}

TEST(FasterWay, ForgetsWhatTookLongOnce) {
    FasterWay way;
    seconds(way, 10, 100, 70);
    way.took(FasterWay::Time(250));
    EXPECT_EQ(seconds(way, 50, 100, 70), 50);
}

}  // namespace
}  // namespace fanlight
