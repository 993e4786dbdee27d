#include "engine/pooled/pooled_pass.h"

#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

using Lengths = std::vector<std::uint32_t>;
using Taken = std::vector<std::uint32_t>;

std::vector<std::vector<Token>> inputs(const Lengths& lengths) {
  std::vector<std::vector<Token>> lists;
  for (const std::uint32_t length : lengths) lists.emplace_back(length, 1);
  return lists;
}

// Of requests with inputs of these lengths.
Taken plan(const std::vector<Lengths>& requests, const PooledLimits& limits = {}) {
  std::vector<std::vector<std::vector<Token>>> lists;
  for (const Lengths& lengths : requests) lists.push_back(inputs(lengths));
  return plan_pooled_pass(std::vector<PooledView>(lists.begin(), lists.end()), limits);
}

TEST(PooledPass, NothingToDo) { EXPECT_EQ(plan({}), Taken{}); }

TEST(PooledPass, OneRequestGoesInGroupsOfFour) { EXPECT_EQ(plan({Lengths(10, 100)}), Taken{4}); }

TEST(PooledPass, AGroupHasUpTo512Tokens) { EXPECT_EQ(plan({Lengths(10, 200)}), Taken{2}); }

TEST(PooledPass, AnInputThatIsLongerGoesAlone) { EXPECT_EQ(plan({{1000, 5}}), Taken{1}); }

TEST(PooledPass, SmallRequestsShareAPassBelow64Tokens) {
  EXPECT_EQ(plan({{20}, {20}, {20}, {20}}), (Taken{1, 1, 1, 0}));
  EXPECT_EQ(plan({{20}, {44}, {1}}), (Taken{1, 0, 1}));
  EXPECT_EQ(plan({{20}, {20, 20, 20}}), (Taken{1, 0})) << "a request's group stays whole";
}

TEST(PooledPass, EachRequestGetsAGroupBeforeAnyGetsItsSecond) {
  EXPECT_EQ(plan({Lengths(100, 4), {4}, {4}}), (Taken{12, 1, 1}));
  EXPECT_EQ(plan({Lengths(100, 15), {4}}), (Taken{4, 0})) << "its group and the other's would be 64";
}

TEST(PooledPass, OnAGpuAsMuchAsFits) {
  EXPECT_EQ(plan({Lengths(100, 100)}, {.tokens = 2048, .inputs = 32, .alike = false}), Taken{20});
  EXPECT_EQ(plan({Lengths(100, 10)}, {.tokens = 2048, .inputs = 32, .alike = false}), Taken{32});
  EXPECT_EQ(plan({Lengths(100, 100), Lengths(2, 100)}, {.tokens = 2048, .inputs = 32, .alike = false}), (Taken{18, 2}));
}

// How a request is cut into passes doesn't depend on what waits around it, except for passes below 64 tokens; and each
// gets something within as many passes as there are requests.
TEST(PooledPass, ARequestIsCutTheSameWayAmongOthers) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::deque<std::vector<std::vector<Token>>> waiting;
    for (std::size_t request = 0; request < 1 + random() % 6; ++request) {
      Lengths lengths(1 + random() % 9);
      for (std::uint32_t& length : lengths) length = 1 + random() % 300;
      waiting.push_back(inputs(lengths));
    }
    while (!waiting.empty()) {
      const Taken taken = plan_pooled_pass(std::vector<PooledView>(waiting.begin(), waiting.end()), {});
      ASSERT_EQ(taken.size(), waiting.size());
      ASSERT_GE(taken.front(), 1u) << "whose turn it is";
      std::uint32_t tokens = 0, requests = 0;
      std::deque<std::vector<std::vector<Token>>> left, served;
      for (std::size_t i = 0; i < taken.size(); ++i) {
        auto& request = waiting[i];
        for (std::uint32_t n = 0; n < taken[i]; ++n) tokens += static_cast<std::uint32_t>(request[n].size());
        requests += taken[i] > 0 ? 1 : 0;
        request.erase(request.begin(), request.begin() + taken[i]);
        if (!request.empty()) (taken[i] > 0 ? served : left).push_back(std::move(request));
      }
      const std::uint32_t inputs = std::accumulate(taken.begin(), taken.end(), 0u);
      if (requests > 1) ASSERT_LT(tokens, 64u);
      ASSERT_TRUE(inputs == 1 || tokens <= 512);
      waiting = std::move(left);
      waiting.insert(waiting.end(), served.begin(), served.end());
    }
  }
}

}  // namespace
}  // namespace corral::engine
