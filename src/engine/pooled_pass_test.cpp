#include "engine/pooled_pass.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using Views = std::vector<PooledView>;

TEST(PooledPass, NothingToDo) { EXPECT_EQ(plan_pooled_pass({}, {}), 0u); }

TEST(PooledPass, OneRequestGoesInGroupsOfFour) { EXPECT_EQ(plan_pooled_pass(Views(10, {1, 100}), {}), 4u); }

TEST(PooledPass, AGroupHasUpTo512Tokens) { EXPECT_EQ(plan_pooled_pass(Views(10, {1, 200}), {}), 2u); }

TEST(PooledPass, AnInputThatIsLongerGoesAlone) { EXPECT_EQ(plan_pooled_pass(Views{{1, 1000}, {1, 5}}, {}), 1u); }

TEST(PooledPass, SmallRequestsShareAPassBelow64Tokens) {
  EXPECT_EQ(plan_pooled_pass(Views{{1, 20}, {2, 20}, {3, 20}, {4, 20}}, {}), 3u);
  EXPECT_EQ(plan_pooled_pass(Views{{1, 20}, {2, 44}, {3, 1}}, {}), 1u);
  EXPECT_EQ(plan_pooled_pass(Views{{1, 20}, {2, 20}, {2, 20}, {2, 20}}, {}), 1u) << "a request's group stays whole";
}

TEST(PooledPass, OnAGpuAsMuchAsFits) {
  EXPECT_EQ(plan_pooled_pass(Views(100, {1, 100}), {.tokens = 2048, .inputs = 32, .alike = false}), 20u);
  EXPECT_EQ(plan_pooled_pass(Views(100, {1, 10}), {.tokens = 2048, .inputs = 32, .alike = false}), 32u);
}

// How a request is cut into passes doesn't depend on what waits around it, except for passes below 64 tokens.
TEST(PooledPass, ARequestIsCutTheSameWayAmongOthers) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Views waiting;
    for (std::uint64_t request = 1; request <= 1 + random() % 6; ++request) {
      for (std::size_t i = 0, n = 1 + random() % 9; i < n; ++i)
        waiting.push_back({request, 1 + static_cast<std::uint32_t>(random() % 300)});
    }
    while (!waiting.empty()) {
      const std::size_t taken = plan_pooled_pass(waiting, {});
      ASSERT_GE(taken, 1u);
      std::uint32_t tokens = 0;
      bool mixed = false;
      for (std::size_t i = 0; i < taken; ++i) {
        tokens += waiting[i].tokens;
        mixed = mixed || waiting[i].request != waiting[0].request;
      }
      if (mixed) ASSERT_LT(tokens, 64u);
      ASSERT_TRUE(taken == 1 || tokens <= 512);
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
    }
  }
}

}  // namespace
}  // namespace corral::engine
