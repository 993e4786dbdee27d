#include "engine_server/templates/template_cost.h"

#include <cmath>

#include <gtest/gtest.h>

namespace corral::engine_server {
namespace {

// Work that takes `other` seconds and grows with the calls; 64 take `at_64` of it.
auto growing(double at_64, double power, double other = 0) {
  return [=](std::size_t calls) { return other + at_64 * std::pow(static_cast<double>(calls) / 64, power); };
}

TEST(TemplateCost, OneThatHardlyNoticesThemTakesAny) {
  EXPECT_EQ(max_calls(growing(0, 1, 0.01), 2), kAnyCalls);
  EXPECT_EQ(max_calls(growing(0.001, 1), 2), kAnyCalls);
}

TEST(TemplateCost, OneThatGrowsWithTheNumberTakesThousands) {
  const auto max = max_calls(growing(0.01, 1), 2);
  EXPECT_GE(max, 12'000u);
  EXPECT_LE(max, 13'000u);
}

// 256 calls took 16 s.
TEST(TemplateCost, OneThatGrowsWithTheCubeTakesFew) {
  const auto max = max_calls(growing(0.25, 3), 2);
  EXPECT_GE(max, 120u);
  EXPECT_LE(max, 136u);
  EXPECT_EQ(max_calls(growing(2.5, 3), 2), kProbedCalls);  // never fewer than were tried
}

// What a square takes of 64 calls is nothing, and 200 s of 4,096.
TEST(TemplateCost, OneThatGrowsWithTheSquareIsFoundWhateverElseItDoes) {
  for (const double other : {0.0, 0.01, 0.05}) {
    const auto max = max_calls(growing(0.049, 2, other), 2);
    EXPECT_GE(max, 350u) << other;
    EXPECT_LE(max, 800u) << other;
  }
  EXPECT_LE(max_calls(growing(0.002, 2), 2), 2'200u);
}

TEST(TemplateCost, NoProbeTakesLong) {
  for (const double at_64 : {0.0001, 0.001, 0.01, 0.099}) {
    for (const double power : {1.0, 2.0, 3.0, 4.0}) {
      const auto cost = growing(at_64, power);
      double longest = 0;
      max_calls([&](std::size_t calls) { return longest = std::max(longest, cost(calls)), cost(calls); }, 2);
      EXPECT_LE(longest, 1.7) << at_64 << " " << power;
    }
  }
}

}  // namespace
}  // namespace corral::engine_server
