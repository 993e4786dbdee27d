#include "engine/row_costs.h"

#include <gtest/gtest.h>

#include "engine/guess_length.h"

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

class GuessLength : public ::testing::Test {
 protected:
  // A machine on which `rows` rows take cost(rows).
  void machine(double (*cost)(std::uint32_t)) {
    for (std::uint32_t rows = 1; rows <= RowCosts::kMostRows; ++rows) costs_.observe(rows, cost(rows));
  }
  std::uint32_t best(double probability, std::uint32_t rows = 1, double each = 0) const {
    return guess_length({.most = 16, .rows = rows, .costs = costs_}, each, [&](std::uint32_t) { return probability; });
  }
  RowCosts costs_;
};

TEST_F(GuessLength, TheSurerTheLonger) {
  machine([](std::uint32_t rows) { return 1 + 0.2 * (rows - 1); });
  EXPECT_EQ(best(0.1), 0u);
  EXPECT_EQ(best(0.5), 1u);
  EXPECT_GT(best(0.8), best(0.5));
  EXPECT_EQ(best(0.99), 16u);
}

// As measured on a processor with fast code for one row only.
TEST_F(GuessLength, WhereASecondRowIsDearOnlyLongSureGuessesPay) {
  machine([](std::uint32_t rows) { return rows == 1 ? 1 : 3 + 0.3 * rows; });
  EXPECT_EQ(best(0.7), 0u);
  EXPECT_EQ(best(0.99), 16u);
}

TEST_F(GuessLength, RowsThatCostAPassEachNeverPay) {
  machine([](std::uint32_t rows) { return 1.0 * rows; });
  EXPECT_EQ(best(0.99), 0u);
}

TEST_F(GuessLength, MakingGuessesCostsToo) {
  machine([](std::uint32_t) { return 50.0; });
  EXPECT_EQ(best(0.9), 16u);
  EXPECT_LT(best(0.9, 1, 0.3), 8u);
  EXPECT_EQ(best(0.9, 1, 1.1), 0u);
}

TEST_F(GuessLength, BesideManyOthersAGuessMustBeBetterThanTheirs) {
  machine([](std::uint32_t rows) { return 1 + 0.1 * (rows - 1); });
  EXPECT_GT(best(0.3, 1), 0u);
  EXPECT_EQ(best(0.3, 16), 0u);
}

TEST_F(GuessLength, NoRoomNoGuesses) {
  EXPECT_EQ(guess_length({.most = 0, .rows = 1, .costs = costs_}, 0, [](std::uint32_t) { return 1.0; }), 0u);
}

}  // namespace
}  // namespace corral::engine
