#include "engine/guess_length.h"

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

constexpr GuessCosts kCosts = {.any = 0.25, .each = 0.15};

// The passes out of `count` in which something was guessed, each guess being right or not.
std::uint32_t passes_with_guesses(GuessLength& length, std::uint32_t count, bool right) {
  std::uint32_t guessed = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t guesses = length.next(8);
    if (guesses == 0) continue;
    ++guessed;
    right ? length.learn(guesses, guesses) : length.learn(1, 0);
  }
  return guessed;
}

TEST(GuessLength, RightGuessesMakeThemLonger) {
  GuessLength length(kCosts);
  const std::uint32_t first = length.next(16);
  EXPECT_GE(first, 1u);
  EXPECT_LT(first, 8u);
  for (int i = 0; i < 10; ++i) {
    const std::uint32_t guesses = length.next(16);
    length.learn(guesses, guesses);
  }
  EXPECT_EQ(length.next(16), 16u);
  EXPECT_EQ(length.next(3), 3u);
}

TEST(GuessLength, WrongGuessesEndThemButForATryNowAndThen) {
  GuessLength length(kCosts);
  passes_with_guesses(length, 100, false);
  EXPECT_GT(passes_with_guesses(length, 1000, false), 0u);
  EXPECT_LT(passes_with_guesses(length, 1000, false), 10u);
}

TEST(GuessLength, ComesBackWhenTheTextRepeatsItselfAgain) {
  GuessLength length(kCosts);
  passes_with_guesses(length, 2000, false);
  passes_with_guesses(length, 1000, true);
  EXPECT_EQ(length.next(8), 8u);
}

TEST(GuessLength, PartlyRightGuessesGetShorterNotFewer) {
  GuessLength length(kCosts);
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t guesses = length.next(16);
    ASSERT_GT(guesses, 0u);
    guesses > 4 ? length.learn(5, 4) : length.learn(guesses, guesses);
  }
  EXPECT_LT(length.rate(), 0.95);
  EXPECT_GT(length.rate(), 0.6);
}

TEST(GuessLength, DearRowsAreNeverWorthIt) {
  GuessLength length({.any = 0.25, .each = 1.2});
  EXPECT_LT(passes_with_guesses(length, 1000, true), 70u);
}

TEST(GuessLength, NothingLearntChangesNothing) {
  GuessLength length(kCosts);
  const std::uint32_t before = length.next(16);
  length.learn(0, 0);
  EXPECT_EQ(length.next(16), before);
  EXPECT_EQ(length.next(0), 0u);
}

}  // namespace
}  // namespace corral::engine
