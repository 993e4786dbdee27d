#include "engine/sample/logits.h"

#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

#include "engine/sample/token_window.h"

namespace corral::engine::test {
namespace {

using ::testing::ElementsAre;

TEST(Argmax, FindsTheFirstOfTheLargest) {
  std::mt19937 random(1);
  for (const std::uint32_t n : {1u, 15u, 16u, 1000u, 1024u, 5000u}) {
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(random() % 50) - 25;
    EXPECT_EQ(argmax(values.data(), n), static_cast<std::uint32_t>(std::ranges::max_element(values) - values.begin()))
        << n;
  }
  const std::vector<float> odd = {NAN, -INFINITY, -3, NAN, -2};
  EXPECT_EQ(argmax(odd.data(), 5), 4u);
}

// What libllama does with a row: the k largest, by a heap that is fed in order.
std::vector<Token> kept(std::vector<llama_token_data> row, std::size_t k) {
  std::ranges::partial_sort(row, row.begin() + static_cast<std::ptrdiff_t>(k), std::greater<>{},
                            &llama_token_data::logit);
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < k; ++i) tokens.push_back(row[i].id);
  return tokens;
}

TEST(Preselect, TheShortListKeepsTheSameInTheSameOrder) {
  std::mt19937 random(2);
  PreselectScratch scratch;
  std::vector<llama_token_data> some;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 3000;
    const auto k = static_cast<std::uint32_t>(1 + random() % std::min<std::size_t>(n, 200));
    // Few different values, so that there are equals everywhere; every third row is nearly sorted.
    const auto steps = 2 + random() % 500;
    std::vector<float> logits(n);
    for (std::size_t i = 0; i < n; ++i) {
      logits[i] = static_cast<float>(random() % steps) / 16 - 5;
      if (round % 3 == 1) logits[i] += static_cast<float>(i) / 50;
      if (random() % 40 == 0) logits[i] = -INFINITY;
    }
    std::vector<Token> changed;
    for (Token token = 0; token < static_cast<Token>(n); ++token) {
      if (random() % 64 == 0) changed.push_back(token);
    }
    ASSERT_TRUE(preselect(logits, k, changed, scratch, some));
    std::vector<llama_token_data> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = {static_cast<Token>(i), logits[i], 0};
    for (const Token token : changed) {
      const float change = static_cast<float>(random() % 20) - 10;
      all[static_cast<std::size_t>(token)].logit += change;
      const auto at = std::ranges::find(some, token, &llama_token_data::id);
      ASSERT_NE(at, some.end());
      at->logit += change;
    }
    ASSERT_EQ(kept(some, k), kept(all, k)) << "round " << round;
  }
}

TEST(Preselect, TheListOfALongRowIsShort) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> logits(152'064);
  for (float& logit : logits) logit = normal(random);
  PreselectScratch scratch;
  std::vector<llama_token_data> some;
  ASSERT_TRUE(preselect(logits, 40, {}, scratch, some));
  EXPECT_LT(some.size(), 1000u);
}

TEST(Preselect, RowsThatAreNoNumbersAreFound) {
  PreselectScratch scratch;
  std::vector<llama_token_data> some;
  const std::vector<Token> changed = {70, 300};
  for (const float bad : {NAN, INFINITY}) {
    for (const std::size_t at : {0u, 5u, 64u, 70u, 300u, 500u, 999u}) {
      std::vector<float> logits(1000, 1.0f);
      ASSERT_TRUE(preselect(logits, 40, changed, scratch, some));
      logits[at] = bad;
      EXPECT_FALSE(preselect(logits, 40, changed, scratch, some)) << at;
    }
  }
}

TEST(TokenWindow, KnowsTheDistinctOnesOfTheLastFew) {
  TokenWindow window(3);
  for (const Token token : {9, 4, 9}) window.push(token);
  EXPECT_THAT(window.distinct(), ElementsAre(4, 9));
  window.push(5);  // 4 9 5
  EXPECT_THAT(window.distinct(), ElementsAre(4, 5, 9));
  window.push(5);
  EXPECT_THAT(window.distinct(), ElementsAre(5, 9));
  window.push(5);
  EXPECT_THAT(window.distinct(), ElementsAre(5));
  TokenWindow none(0);
  none.push(1);
  EXPECT_TRUE(none.distinct().empty());
}

}  // namespace
}  // namespace corral::engine::test
