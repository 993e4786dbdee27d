#include "engine/service/placement.h"

#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kIdle[] = {0, 0, 0};

TEST(Placement, NothingKnownGoesToTheLeastBusyAndInTurnAmongEquals) {
  Placement placement;
  for (std::uint32_t next = 0; next < 3; ++next)
    EXPECT_EQ(placement.choose(some_tokens(500, next + 1), kIdle, next), next);
  const std::uint32_t busy[] = {2, 3, 1};
  EXPECT_EQ(placement.choose(some_tokens(500, 9), busy, 0), 2u);
  EXPECT_EQ(placement.choose({}, busy, 1), 2u);
}

TEST(Placement, AConversationComesBackToItsWorker) {
  Placement placement;
  auto talk = some_tokens(130);
  ASSERT_EQ(placement.choose(talk, kIdle, 1), 1u);
  for (std::uint32_t turn = 0; turn < 5; ++turn) {
    talk = talk + some_tokens(100, turn + 2);
    EXPECT_EQ(placement.choose(talk, kIdle, turn % 3), 1u) << turn;
  }
  // Only a beginning counts, and only whole blocks of it.
  EXPECT_EQ(placement.choose(some_tokens(1) + talk, kIdle, 2), 2u);
  EXPECT_EQ(placement.choose(std::span(talk).first(Placement::kBlock - 1), kIdle, 2), 2u);
}

TEST(Placement, TheLongerBeginningCountsMore) {
  Placement placement;
  const auto system = some_tokens(192);
  const auto other = system + some_tokens(128, 7);
  ASSERT_EQ(placement.choose(system, kIdle, 0), 0u);
  const std::uint32_t first_is_full[] = {100, 0, 0};
  ASSERT_EQ(placement.choose(other, first_is_full, 2), 2u);
  EXPECT_EQ(placement.choose(other, kIdle, 0), 2u);
  // Two know the system prompt now, and the less busy of them is taken.
  const std::uint32_t busy[] = {1, 0, 0};
  EXPECT_EQ(placement.choose(system, busy, 1), 2u);
}

TEST(Placement, KnownTokensMakeGoodForSoManyGenerations) {
  Placement placement;
  const auto talk = some_tokens(2 * Placement::kWorthOfOne);
  ASSERT_EQ(placement.choose(talk, kIdle, 0), 0u);
  const std::uint32_t as_good[] = {1, 0, 0}, too_busy[] = {3, 0, 0};
  EXPECT_EQ(placement.choose(talk, as_good, 1), 0u);
  EXPECT_EQ(placement.choose(talk, too_busy, 1), 1u);
}

// However long what all have in common is, it isn't a reason to leave a worker idle.
TEST(Placement, ALongCommonBeginningComesToAllWorkers) {
  Placement placement;
  const auto system = some_tokens(100 * Placement::kWorthOfOne);
  std::uint32_t busy[] = {0, 0, 0};
  for (std::uint32_t i = 0; i < 30; ++i) ++busy[placement.choose(system + some_tokens(100, i + 2), busy, i % 3)];
  for (const std::uint32_t of_one : busy) EXPECT_GE(of_one, 8u);
}

TEST(Placement, WhatIsUsedIsRememberedWhateverElseComes) {
  Placement placement;
  const auto kept = some_tokens(256, 1), dropped = some_tokens(256, 2);
  ASSERT_EQ(placement.choose(kept, kIdle, 0), 0u);
  ASSERT_EQ(placement.choose(dropped, kIdle, 0), 0u);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(placement.choose(kept, kIdle, 1), 0u);
    (void)placement.choose(some_tokens(64'000, i + 3), kIdle, 2);
  }
  EXPECT_EQ(placement.choose(dropped, kIdle, 1), 1u);
}

}  // namespace
}  // namespace corral::engine::test
