#include "mesh/allocation/split_plan.h"

#include <numeric>

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::HasSubstr;

// 40 layers of 700 MB with 50 MB of cache each, ends of 1 GB, buffers of 500 MB: 31.5 GB on one node.
class SplitPlanTest : public testing::Test {
 protected:
  SplitPlanTest() { query.model = {40, 700'000'000, 50'000'000, kGB, kGB / 2}; }
  static NodeId id(unsigned number) { return test_key(number).id(); }
  void add(unsigned number, std::uint64_t gb, bool has_file = true) {
    for (const auto& other : query.nodes) facts.push_back({other.id, id(number), 200, 0});
    query.nodes.push_back({id(number), gb * kGB, 20 * kGB, has_file});
  }
  LinkFacts& link(unsigned a, unsigned b) {
    return *std::ranges::find_if(facts, [&](const auto& one) {
      return (one.a == id(a) && one.b == id(b)) || (one.a == id(b) && one.b == id(a));
    });
  }
  SplitAnswer plan() {
    links = LinkTable(facts);
    query.links = &links;
    return plan_split(query);
  }
  static std::uint32_t layers(const SplitPlan& plan) {
    return std::accumulate(plan.shares.begin(), plan.shares.end(), 0U,
                           [](auto sum, const auto& share) { return sum + share.layers; });
  }
  SplitQuery query;
  std::vector<LinkFacts> facts;
  LinkTable links;
};

TEST_F(SplitPlanTest, LayersGoByMemoryAndTheHostIsLast) {
  add(1, 12);
  add(2, 24);
  const auto answer = plan();
  ASSERT_TRUE(answer.plan) << answer.shortage->text;
  EXPECT_EQ(answer.plan->host, id(2));
  ASSERT_EQ(answer.plan->shares.size(), 2u);
  EXPECT_EQ(answer.plan->shares.back().node, id(2));
  EXPECT_EQ(layers(*answer.plan), 40u);
  // Rooms are 15 and 30 layers.
  EXPECT_EQ(answer.plan->shares.front().layers, 13u);
  EXPECT_EQ(answer.plan->shares.front().weights, 13 * 700'000'000ULL);
  EXPECT_EQ(answer.plan->shares.front().cache, 13 * 50'000'000ULL);
  EXPECT_EQ(answer.plan->shares.front().compute, kGB / 2);
  EXPECT_EQ(answer.plan->shares.back().weights, 27 * 700'000'000ULL + kGB);
  // 29 GB of weights at 20 GB/s, and two round trips of 0.2 ms.
  EXPECT_NEAR(answer.plan->token_ms, 1450.4, 0.01);
  EXPECT_NEAR(answer.plan->wait_ms, 0.4, 0.001);
  EXPECT_NEAR(answer.plan->load_s, 91, 0.1);  // 9.1 GB at 100 MB/s, as nobody has measured it
  EXPECT_THAT(in_words(*answer.plan), HasSubstr("27 layers and 21.8 GB at " + short_text(id(2)) + " (host)"));
}

TEST_F(SplitPlanTest, NoShareIsLargerThanItsNode) {
  for (unsigned first = 6; first < 32; ++first) {
    query.nodes.clear();
    facts.clear();
    add(1, first);
    add(2, 36 - first, first % 2);
    add(3, 3);
    const auto answer = plan();
    if (!answer.plan) continue;
    EXPECT_EQ(layers(*answer.plan), 40u);
    for (const auto& share : answer.plan->shares) {
      const auto node = std::ranges::find(query.nodes, share.node, &SplitNode::id);
      EXPECT_LE(share.total(), node->memory) << first;
      EXPECT_GT(share.layers, 0u);
    }
  }
}

TEST_F(SplitPlanTest, WhatFitsAloneIsNotSplitUnlessTold) {
  add(1, 12);
  add(2, 40);
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::fits_alone);
  query.told = true;
  const auto answer = plan();
  ASSERT_TRUE(answer.plan);
  EXPECT_EQ(answer.plan->shares.size(), 2u);
}

TEST_F(SplitPlanTest, AsFewNodesAsDo) {
  for (unsigned number = 1; number <= 5; ++number) add(number, 10 + number);
  EXPECT_EQ(plan().plan->shares.size(), 3u);
  add(6, 24);
  EXPECT_EQ(plan().plan->shares.size(), 2u);
}

TEST_F(SplitPlanTest, TheHostHasTheFileAndOfThoseTheMostMemoryThenTheHighestId) {
  add(1, 20);
  add(2, 24, false);
  EXPECT_EQ(plan().plan->host, id(1));
  add(3, 20);
  facts = {{id(1), id(3), 200, 0}};
  EXPECT_EQ(plan().plan->host, std::max(id(1), id(3)));
}

TEST_F(SplitPlanTest, WithoutAnyFileTheHostGetsItFirst) {
  add(1, 20, false);
  add(2, 24, false);
  const auto answer = plan();
  EXPECT_EQ(answer.plan->host, id(2));
  EXPECT_FALSE(answer.plan->host_has_file);
}

TEST_F(SplitPlanTest, SaysWhatIsShortByHowMuch) {
  add(1, 12);
  add(2, 12);
  const auto answer = plan();
  ASSERT_TRUE(answer.shortage);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::no_memory);
  EXPECT_EQ(answer.shortage->have, 24 * kGB);
  // 15 and 14 of 40 layers.
  EXPECT_EQ(answer.shortage->need - answer.shortage->have, 11 * 750'000'000ULL);
  EXPECT_THAT(answer.shortage->text, HasSubstr("2 nodes give 24.0 GB together: 8.2 GB short"));
}

TEST_F(SplitPlanTest, TheNetworkMayTakeThirtyPercentOfAToken) {
  query.model = {40, 700'000, 50'000, kGB / 1000, kGB / 2000};  // 29 MB: 1.45 ms for each token
  add(1, 0);
  add(2, 0);
  query.nodes[0].memory = query.nodes[1].memory = 20'000'000;
  // 2 round trips of 0.31 ms are 0.62 of 2.07 ms; of 0.32 ms 0.64 of 2.09.
  link(1, 2).round_trip_us = 310;
  EXPECT_TRUE(plan().plan);
  link(1, 2).round_trip_us = 320;
  const auto answer = plan();
  ASSERT_TRUE(answer.shortage);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::too_slow);
  EXPECT_THAT(answer.shortage->text, HasSubstr("0.6 of the 2.1 ms of each token; 30 % is the most"));
  query.told = true;
  EXPECT_TRUE(plan().plan);
}

TEST_F(SplitPlanTest, ANearerNodeIsTakenWhereItDoes) {
  add(1, 20);
  add(2, 18, false);
  add(3, 16, false);
  link(1, 2).round_trip_us = 9000;
  EXPECT_EQ(plan().plan->shares.front().node, id(3));
  // But not two instead of one.
  query.nodes[2].memory = 10 * kGB;
  EXPECT_EQ(plan().plan->shares.front().node, id(2));
}

TEST_F(SplitPlanTest, NobodyTakesPartWithoutALinkToTheHost) {
  add(1, 20);
  add(2, 20);
  facts.clear();
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_links);
  query.told = true;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_links);
  // One with most memory that nobody reaches is in nobody's way.
  query.told = false;
  add(3, 25);
  facts = {{id(1), id(2), 100, 0}};
  EXPECT_EQ(plan().plan->shares.size(), 2u);
}

TEST_F(SplitPlanTest, TheOrderOfNodesChangesNothing) {
  for (unsigned number = 1; number <= 4; ++number) add(number, 9 + number % 2 * 3, number != 2);
  const auto answer = plan();
  ASSERT_TRUE(answer.plan);
  std::ranges::sort(query.nodes, {}, &SplitNode::id);
  do {
    std::ranges::reverse(facts);
    ASSERT_EQ(plan().plan, answer.plan);
  } while (std::ranges::next_permutation(query.nodes, {}, &SplitNode::id).found);
}

TEST_F(SplitPlanTest, NumbersOfStrangersOverflowNothing) {
  query.model = {~0U, ~0ULL, ~0ULL, ~0ULL, ~0ULL};
  query.told = true;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_memory);
  for (unsigned number = 1; number <= 3; ++number) add(number, 1);
  for (auto& node : query.nodes) node.memory = ~0ULL;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_memory);
  query.model = {};
  EXPECT_TRUE(plan().plan);
}

TEST(RoughSplitModelTest, AddsUpToWhatIsKnown) {
  const auto model = rough_split_model(33 * kGB, 40 * kGB);
  EXPECT_EQ(model.layers * model.layer_bytes + model.ends_bytes, 33 * kGB);
  EXPECT_NEAR(static_cast<double>(model.layers * model.cache_bytes + model.compute_bytes), 7e9, 1e3);
}

// Nearer ones first, those with the most memory of them, and farther ones only where these don't do.
TEST_F(SplitPlanTest, FartherNodesAreAddedUntilItFits) {
  for (unsigned number = 1; number <= 6; ++number) add(number, 8 + number, number == 1);
  for (unsigned number = 2; number <= 6; ++number) link(1, number).round_trip_us = 400 * number;
  const auto nodes_of = [](const SplitPlan& plan) {
    std::vector<NodeId> nodes;
    for (const auto& share : plan.shares) nodes.push_back(share.node);
    return nodes;
  };
  const auto answer = plan();
  ASSERT_TRUE(answer.plan) << answer.shortage->text;
  // Within 2 ms all but the sixth: three more are the fewest, of which those with the most memory.
  auto workers = std::vector{id(4), id(5)};
  std::ranges::sort(workers);
  workers.push_back(id(1));
  EXPECT_EQ(nodes_of(*answer.plan), workers);
  for (const auto& share : answer.plan->shares) EXPECT_GT(share.layers, 0u);
}

TEST(LinkTableTest, KnowsTheLinksOfANode) {
  const auto a = test_key(1).id(), b = test_key(2).id(), c = test_key(3).id();
  const LinkTable links({{a, b, 10, 0}, {b, c, 20, 0}, {b, a, 30, 0}});
  ASSERT_EQ(links.of(b).size(), 2u);
  for (const auto& link : links.of(b)) {
    EXPECT_EQ(link.a, b);
    EXPECT_EQ(link.round_trip_us, link.b == a ? 30u : 20u);
  }
  EXPECT_EQ(links.of(a).size(), 1u);
  EXPECT_TRUE(links.of(test_key(4).id()).empty());
}

TEST(LinkTableTest, OfTwoReportsTheWorseCounts) {
  const auto a = test_key(1).id(), b = test_key(2).id(), c = test_key(3).id();
  const LinkTable links({{a, b, 0, 500}, {b, a, 70, 0}, {a, b, 50, 900}});
  ASSERT_TRUE(links.find(b, a));
  EXPECT_EQ(links.find(b, a)->round_trip_us, 70u);
  EXPECT_EQ(links.find(a, b)->bytes_per_second, 500u);
  EXPECT_EQ(links.find(a, c), nullptr);
}

}  // namespace
}  // namespace corral::mesh
