#include "http/min_rate.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

using namespace std::chrono_literals;

TEST(MinRateMeter, WithoutARateTheGraceIsATotalWhateverMoves) {
  MinRateMeter pace;
  pace.restart({10s, 0});
  for (int i = 0; i < 9; ++i) {
    pace.moved(1 << 20);
    EXPECT_TRUE(pace.waited(1s));
  }
  EXPECT_FALSE(pace.waited(1s));
}

TEST(MinRateMeter, WhoKeepsTheRateIsWaitedForWithoutAnEnd) {
  MinRateMeter pace;
  pace.restart({10s, 1000});
  for (int i = 0; i < 100'000; ++i) {
    pace.moved(1000);
    ASSERT_TRUE(pace.waited(1s)) << i;
  }
}

TEST(MinRateMeter, WhoIsHalfAsFastAsTheRateLastsTwiceTheGrace) {
  MinRateMeter pace;
  pace.restart({10s, 1000});
  int seconds = 0;
  do {
    pace.moved(500);
    ++seconds;
  } while (pace.waited(1s));
  EXPECT_GE(seconds, 19);
  EXPECT_LE(seconds, 21);
}

TEST(MinRateMeter, WhatMovedFastBuysNoMoreThanTheGrace) {
  MinRateMeter pace;
  pace.restart({10s, 1000});
  pace.moved(~0ull);
  EXPECT_TRUE(pace.waited(9s));
  EXPECT_FALSE(pace.waited(2s));
}

TEST(MinRateMeter, IsEndlessAtFirst) {
  MinRateMeter pace;
  EXPECT_TRUE(pace.waited(std::chrono::hours(24 * 300)));
}

}  // namespace
}  // namespace corral::http
