#include "base/context_size.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace corral {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30, kKiB = 1024;

std::uint32_t context(std::uint64_t trained, std::uint64_t per_token, std::uint64_t free) {
  const ContextMemory memory[] = {{per_token, free}};
  return automatic_context(trained, memory);
}

TEST(AutomaticContext, IsWhatTheModelWasTrainedWithWhereMemoryAllows) {
  EXPECT_EQ(context(2048, 12 * kKiB, 16 * kGiB), 2048u);
  EXPECT_EQ(context(40960, 12 * kKiB, 16 * kGiB), 40960u);
  EXPECT_EQ(context(131072, 12 * kKiB, 16 * kGiB), 131072u);
}

TEST(AutomaticContext, LeavesHalfOfTheMemoryToOthers) {
  EXPECT_EQ(context(131072, 128 * kKiB, 16 * kGiB), 65536u);
  EXPECT_EQ(context(131072, 128 * kKiB, 12 * kGiB), 49152u);
}

TEST(AutomaticContext, TakesMoreUpToWhatAnAgentNeeds) {
  EXPECT_EQ(context(131072, 128 * kKiB, 6 * kGiB), 32768u);
  EXPECT_EQ(context(131072, 128 * kKiB, 5 * kGiB), 24576u);
}

TEST(AutomaticContext, NeverLessThanTheFirstCells) {
  EXPECT_EQ(context(131072, 128 * kKiB, 0), kFirstContext);
  EXPECT_EQ(context(131072, 128 * kKiB, kGiB), kFirstContext);
  EXPECT_EQ(context(4096, 128 * kKiB, 0), 4096u);
}

TEST(AutomaticContext, WhereNothingIsKnown) {
  EXPECT_EQ(automatic_context(131072, {}), kFirstContext);
  EXPECT_EQ(context(0, 12 * kKiB, 16 * kGiB), kFirstContext);
  EXPECT_EQ(context(1 << 20, 0, kGiB), 1u << 20) << "a recurrent state has no cells";
}

TEST(AutomaticContext, TheTightestMemoryDecides) {
  const ContextMemory memory[] = {{100 * kKiB, 64 * kGiB}, {64 * kKiB, 4 * kGiB}};
  EXPECT_EQ(automatic_context(131072, memory), 32768u);
}

TEST(AutomaticContext, AlwaysHoldsItsPromises) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t trained = below(4) == 0 ? below(10'000) : below(2'000'000);
    std::vector<ContextMemory> memory(1 + below(3));
    for (auto& one : memory) one = {below(8) == 0 ? 0 : below(1024 * kKiB), below(128 * kGiB)};
    const std::uint64_t tokens = automatic_context(trained, memory);
    const std::uint64_t first = trained == 0 ? kFirstContext : std::min<std::uint64_t>(trained, kFirstContext);
    ASSERT_GE(tokens, first);
    ASSERT_LE(tokens, std::max<std::uint64_t>(trained, first));
    bool roomy = trained >= kAgentContext;
    for (const auto& one : memory) {
      if (tokens > first) {
        ASSERT_LE(tokens * one.per_token, one.free / 4 * 3);
        if (tokens > kAgentContext) ASSERT_LE(tokens * one.per_token, one.free / 2);
      }
      roomy &= one.free / 4 * 3 >= kAgentContext * one.per_token;
    }
    if (roomy) ASSERT_GE(tokens, kAgentContext);
    auto more = memory;
    for (auto& one : more) one.free += below(kGiB);
    ASSERT_GE(automatic_context(trained, more), tokens) << "more memory never gives less";
    // The same within reason: a few percent of memory are one step at the most.
    for (auto& one : more) one.free = one.free / 100 * 97;
    for (std::size_t at = 0; at < memory.size(); ++at) more[at].free = memory[at].free / 100 * 97;
    ASSERT_GE(automatic_context(trained, more) * 2, tokens);
  }
}

std::uint32_t grown(std::uint32_t now, std::uint32_t needed, std::uint32_t max, std::uint64_t free) {
  const ContextMemory memory[] = {{kKiB, free}};
  return grown_context(now, needed, max, memory);
}

TEST(GrownContext, DoublesUntilItHoldsWhatIsNeeded) {
  EXPECT_EQ(grown(8192, 8193, 131072, kGiB), 16384u);
  EXPECT_EQ(grown(8192, 25000, 131072, kGiB), 32768u);
  EXPECT_EQ(grown(8192, 25000, 30000, kGiB), 30000u);
}

TEST(GrownContext, TakesLessWhereMemoryIsShort) {
  EXPECT_EQ(grown(8192, 17000, 131072, 36'000 * kKiB), 19200u);
  EXPECT_EQ(grown(8192, 17000, 131072, 20'000 * kKiB), 8192u);
}

TEST(GrownContext, StaysWhereItIsOtherwise) {
  EXPECT_EQ(grown(8192, 100, 131072, kGiB), 8192u);
  EXPECT_EQ(grown(8192, 40000, 32768, kGiB), 8192u) << "more than there may be";
}

TEST(GrownContext, AlwaysHoldsItsPromises) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100'000; ++i) {
    const auto now = static_cast<std::uint32_t>(1 + random() % 100'000),
               needed = static_cast<std::uint32_t>(random() % 300'000),
               max = static_cast<std::uint32_t>(1 + random() % 300'000);
    const ContextMemory memory[] = {{1 + random() % (256 * kKiB), random() % (64 * kGiB)}};
    const std::uint64_t cells = grown_context(now, needed, max, memory);
    if (cells == now) continue;
    ASSERT_GT(cells, now);
    ASSERT_GE(cells, needed);
    ASSERT_LE(cells, max);
    ASSERT_LE((cells + now) * memory[0].per_token, memory[0].free);
  }
}

}  // namespace
}  // namespace corral
