#include "engine/threads/client_quota.h"

#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

// A request of 1,024 answers, sent twice, used to leave no room for anybody.
TEST(ClientQuota, OneWithManyLeavesRoomForOthers) {
  ClientQuota shares(1032);
  const auto many = shares.enter("greedy", 1024);
  ASSERT_TRUE(many);  // nobody else is there
  EXPECT_FALSE(shares.enter("greedy", 1));
  const auto one = shares.enter("modest", 1);
  EXPECT_TRUE(one);
  EXPECT_FALSE(shares.enter("third", 8));
  EXPECT_TRUE(shares.enter("third", 1));
  EXPECT_EQ(shares.held("greedy"), 1024u);
}

TEST(ClientQuota, BesideOthersNobodyGetsMoreThanIsLeft) {
  ClientQuota shares(100);
  const auto one = shares.enter("modest", 1);
  EXPECT_FALSE(shares.enter("greedy", 50));
  const auto half = shares.enter("greedy", 49);
  EXPECT_TRUE(half);
  EXPECT_FALSE(shares.enter("greedy", 1));
  EXPECT_TRUE(shares.enter("third", 25));
}

TEST(ClientQuota, OneAloneLeavesAnEighth) {
  ClientQuota shares(80);
  std::vector<ClientQuota::Held> held;
  while (auto one = shares.enter("a", 1)) held.push_back(std::move(one));
  EXPECT_EQ(held.size(), 70u);
  EXPECT_TRUE(shares.enter("b", 1));
}

// A legal request was refused for as long as another client was busy.
TEST(ClientQuota, WhereTheFirstOneEntersItsSizeDoesntCount) {
  ClientQuota shares(4'000'000, ClientQuota::First::enters);
  const auto first = shares.enter("greedy", 2'000'000), second = shares.enter("greedy", 1'500'000);
  ASSERT_TRUE(first && second);
  const auto modest = shares.enter("modest", 1'000'000);
  EXPECT_TRUE(modest);
  EXPECT_FALSE(shares.enter("third", 1)) << "nothing is free";
  EXPECT_FALSE(shares.enter("modest", 1));
}

// It was a second, whatever the others did.
TEST(ClientQuota, TellWhenThereIsRoomAgain) {
  using namespace std::chrono_literals;
  ClientQuota shares(8);
  const auto now = MonoClock::now();
  for (int i = 0; i < 30; ++i) (void)shares.enter("a", 1, now - 100s);
  const auto first = shares.enter("a", 6, now - 40s);
  ASSERT_TRUE(first);
  EXPECT_FALSE(shares.enter("a", 2, now));
  const auto wait = shares.until_free("a", now);
  EXPECT_TRUE(wait >= 55s && wait <= 65s) << wait.count();
  const auto others = shares.until_free("b", now);
  EXPECT_TRUE(others >= 55s && others <= 65s) << others.count();
  EXPECT_EQ(ClientQuota(8).until_free("a", now), 1s);
}

TEST(ClientQuota, WhatIsHeldComesBackWithTheLastCopy) {
  ClientQuota::Held copy;
  {
    ClientQuota shares(4);
    auto held = shares.enter("a", 4);
    EXPECT_FALSE(shares.enter("b", 1));
    copy = held;
    held.reset();
    EXPECT_FALSE(shares.enter("b", 1));
    copy.reset();
    EXPECT_EQ(shares.held("a"), 0u);
    copy = shares.enter("b", 4);
    EXPECT_TRUE(copy);
  }
  copy.reset();  // after the end of the quota
}

}  // namespace
}  // namespace corral::engine
