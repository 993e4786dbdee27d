#include "engine/sample/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

namespace corral::engine::test {
namespace {

std::vector<float> random_row(std::mt19937& random, std::size_t n, float spread) {
  std::normal_distribution<float> normal;
  std::vector<float> row(n);
  for (float& logit : row) logit = normal(random) * spread;
  return row;
}

TEST(Logprobs, MostLikelyAreTheLargestInOrder) {
  std::mt19937 random(1);
  std::vector<Token> found;
  for (int round = 0; round < 300; ++round) {
    auto row = random_row(random, 1 + random() % 5000, 3);
    if (round % 2 == 0) {
      for (float& logit : row) logit = std::round(logit);  // equals everywhere
    }
    if (round % 5 == 0) std::ranges::sort(row);
    std::vector<Token> sorted(row.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](Token a, Token b) {
      const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    for (const std::uint32_t n : {0u, 1u, 2u, 20u, 100u, 10'000u}) {
      most_likely(row, n, found);
      ASSERT_EQ(found,
                std::vector<Token>(sorted.begin(), sorted.begin() + std::min<std::ptrdiff_t>(n, std::ssize(sorted))))
          << "round " << round << ", n " << n;
    }
  }
}

TEST(Logprobs, TheSumIsExactToSixDigits) {
  std::mt19937 random(2);
  for (const std::size_t n : {1u, 7u, 16u, 17u, 1000u, 1024u, 152'064u}) {
    for (const float spread : {0.0f, 0.1f, 3.0f, 40.0f}) {
      auto row = random_row(random, n, spread);
      if (n > 100) row[50] = -INFINITY;
      const float largest = *std::ranges::max_element(row);
      long double sum = 0;
      for (const float logit : row) sum += std::exp(static_cast<long double>(logit));
      const auto expected = static_cast<double>(std::log(sum));
      EXPECT_NEAR(log_sum_exp(row, largest), expected, 2e-6 + std::abs(expected) * 1e-7) << n << " " << spread;
    }
  }
}

}  // namespace
}  // namespace corral::engine::test
