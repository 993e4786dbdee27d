#include "engine/row_costs.h"

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

TEST(RowCosts, ADearPassIsForgottenInTime) {
  RowCosts costs;
  costs.observe(8, 1000);
  for (std::uint64_t i = 0; i < RowCosts::kForgotten; ++i) costs.observe(1, 10);
  EXPECT_LT(costs.of(8), 30);
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
