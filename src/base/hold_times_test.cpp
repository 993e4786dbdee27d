#include "base/hold_times.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

using namespace std::chrono_literals;

TEST(HoldTimes, SayWhenAPlaceIsFreeAgain) {
  HoldTimes times;
  EXPECT_EQ(times.until_free(1, 4, 100s), 1s) << "nothing is known";
  for (int i = 0; i < 20; ++i) times.ended(40s);
  EXPECT_EQ(times.until_free(1, 1, 0s), 40s);
  EXPECT_EQ(times.until_free(1, 4, 30s), 10s);
  EXPECT_EQ(times.until_free(1, 4, 90s), 10s) << "it is late: one of four may end at any time";
  EXPECT_EQ(times.until_free(3, 4, 30s), 30s);
  EXPECT_EQ(times.until_free(1'000'000, 1, 0s), 600s);
  EXPECT_EQ(times.until_free(1, 0, 0s), 40s);
}

TEST(HoldTimes, FollowWhatHappensNow) {
  HoldTimes times;
  times.ended(1s);
  for (int i = 0; i < 60; ++i) times.ended(100s);
  EXPECT_GE(times.until_free(1, 1, 0s), 99s);
}

}  // namespace
}  // namespace corral
