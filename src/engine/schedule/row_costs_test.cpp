#include "engine/schedule/row_costs.h"

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

TEST(RowCosts, NothingKnownIsTakenToBeCheap) {
  const RowCosts costs;
  EXPECT_DOUBLE_EQ(costs.of(1), 1);
  EXPECT_GT(costs.of(8), costs.of(7));
  EXPECT_LT(costs.of(8), 2);
}

TEST(RowCosts, MeasuredOnesAreKnownAndFollowTheLoad) {
  RowCosts costs;
  costs.observe(1, 10);
  costs.observe(4, 30);
  EXPECT_DOUBLE_EQ(costs.of(1), 10);
  EXPECT_DOUBLE_EQ(costs.of(4), 30);
  for (int i = 0; i < 50; ++i) costs.observe(1, 20);
  EXPECT_NEAR(costs.of(1), 20, 0.1);
}

TEST(RowCosts, BetweenAndBehindMeasuredOnesIsGuessed) {
  RowCosts costs;
  costs.observe(2, 20);
  costs.observe(6, 60);
  EXPECT_DOUBLE_EQ(costs.of(4), 40);
  EXPECT_LT(costs.of(1), 20);
  EXPECT_GT(costs.of(1), 15);
  EXPECT_GT(costs.of(12), 60);
  EXPECT_LT(costs.of(12), 90);
}

TEST(RowCosts, ACostlyPassIsForgottenInTime) {
  RowCosts costs;
  costs.observe(8, 1000);
  for (std::uint64_t i = 0; i < RowCosts::kForgotten; ++i) costs.observe(1, 10);
  EXPECT_LT(costs.of(8), 30);
}

TEST(RowCosts, ASinglePassMayHaveBeenDisturbed) {
  RowCosts costs;
  costs.observe(7, 300);
  EXPECT_TRUE(costs.measured(7));
  EXPECT_FALSE(costs.tried(7));
  costs.observe(7, 90);
  EXPECT_TRUE(costs.tried(7));
  EXPECT_DOUBLE_EQ(costs.of(7), 90);
  costs.observe(8, 70);
  costs.observe(8, 200);
  EXPECT_DOUBLE_EQ(costs.of(8), 70);
}

// What lies behind: seven rows were seen when histories were short, and must not look quicker than eight later on.
TEST(RowCosts, WhatGrowsForSomeGrowsForAll) {
  RowCosts costs;
  for (int i = 0; i < 2; ++i) costs.observe(7, 90);
  for (int i = 0; i < 2; ++i) costs.observe(8, 75);
  for (int i = 0; i < 400; ++i) costs.observe(8, 75 + 0.1 * i);
  EXPECT_NEAR(costs.of(8), 115, 2);
  EXPECT_GT(costs.of(7), costs.of(8) * 1.05);
}

TEST(RowCosts, ADisturbedPassTellsLittle) {
  RowCosts costs;
  for (int i = 0; i < 10; ++i) costs.observe(8, 75);
  costs.observe(8, 7500);
  EXPECT_LT(costs.of(8), 85);
}

TEST(RowCosts, ElsewhereOnlyTheLevelDiffers) {
  RowCosts here;
  for (int i = 0; i < 2; ++i) {
    here.observe(7, 90);
    here.observe(8, 75);
    here.observe(1, 16);
  }
  RowCosts there = here.elsewhere();
  EXPECT_FALSE(there.measured(1)) << "one row is another matter: it may not gain from more threads";
  there.observe(8, 150);
  EXPECT_NEAR(there.of(8), 150, 1e-6);
  EXPECT_NEAR(there.of(7), 180, 1e-6);
  EXPECT_NEAR(here.of(8), 75, 1e-6);
}

TEST(RowCosts, ElsewhereTheFirstPassMayBeDisturbed) {
  RowCosts here;
  for (int i = 0; i < 2; ++i) here.observe(8, 75);
  RowCosts there = here.elsewhere();
  there.observe(8, 400);
  there.observe(8, 150);
  EXPECT_NEAR(there.of(8), 150, 1e-6);
}

TEST(RowCosts, ElsewhereTheFirstPassesMayBeOfWhatWasntKnown) {
  RowCosts here;
  for (int i = 0; i < 2; ++i) here.observe(8, 75);
  RowCosts there = here.elsewhere();
  for (int i = 0; i < 4; ++i) there.observe(1, 21);
  there.observe(8, 150);
  EXPECT_NEAR(there.of(1), 21, 1e-6);
  EXPECT_NEAR(there.of(8), 150, 1e-6);
}

// A chat alone, and a long prompt comes: nothing that was known before ever tells the level.
TEST(RowCosts, ElsewhereWhereNothingIsKnownItIsLearntAsAnywhere) {
  RowCosts here;
  for (int i = 0; i < 2; ++i) here.observe(1, 16);
  RowCosts there = here.elsewhere();
  for (int i = 0; i < 2; ++i) {
    there.observe(1, 20);
    there.observe(8, 100);
  }
  for (int i = 0; i < 200; ++i) there.observe(1, 60);
  EXPECT_NEAR(there.of(1), 60, 1);
  EXPECT_GT(there.of(8), 200) << "what grows for some grows for all";
}

TEST(RowCosts, AClockThatStandsStillTellsNothing) {
  RowCosts costs;
  for (int i = 0; i < 3; ++i) costs.observe(4, 0);
  EXPECT_FALSE(costs.measured(4));
}

TEST(RowCosts, AnyNumberOfRowsIsFine) {
  RowCosts costs;
  costs.observe(5000, 7);
  costs.observe(0, 1);
  EXPECT_GT(costs.of(100'000), 0);
  EXPECT_GT(costs.of(0), 0);
}

}  // namespace
}  // namespace corral::engine
