#include "engine_server/template_cost.h"

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

TEST(TemplateCost, OneThatGrowsWithTheNumberTakesAny) {
  EXPECT_EQ(most_calls(0.010, 0.012, 2), kAnyCalls);
  EXPECT_EQ(most_calls(0.1, 0.2, 2), kAnyCalls);
  EXPECT_EQ(most_calls(0.0, 0.04, 2), kAnyCalls);
}

// 256 calls took 16 s.
TEST(TemplateCost, OneThatGrowsWithTheCubeTakesFew) {
  const auto most = most_calls(0.25 / 8, 0.25, 2);
  EXPECT_GE(most, 120u);
  EXPECT_LE(most, 136u);
  EXPECT_EQ(most_calls(0.25, 2.5, 2), kProbedCalls);  // never fewer than were tried
}

TEST(TemplateCost, OneThatGrowsWithTheSquareTakesMore) {
  const auto most = most_calls(0.05 / 4, 0.05, 2);
  EXPECT_GE(most, 380u);
  EXPECT_LE(most, 410u);
}

}  // namespace
}  // namespace corral::engine_server
