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
  SplitPlanTest() {
    query.model = {.layers = 40,
                   .layer_bytes = 700'000'000,
                   .cache_bytes = 50'000'000,
                   .ends_bytes = kGB,
                   .compute_bytes = kGB / 2};
  }
  static NodeId id(unsigned number) { return test_key(number).id(); }
  void add(unsigned number, std::uint64_t gb, bool has_file = true) {
    for (const auto& other : query.nodes) facts.push_back({other.id, id(number), 200, 0});
    query.nodes.push_back({id(number), gb * kGB, 20 * kGB, has_file});
    query.nodes.back().name = "n" + std::to_string(number);
  }
  LinkQuality& link(unsigned a, unsigned b) {
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
  std::vector<LinkQuality> facts;
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
  // 29 GB of weights at 20 GB/s, a worker's turn, and two round trips of 0.2 ms.
  EXPECT_NEAR(answer.plan->token_ms, 1452.9, 0.01);
  EXPECT_NEAR(answer.plan->wait_ms, 0.4, 0.001);
  EXPECT_NEAR(answer.plan->load_s, 91, 0.1);  // 9.1 GB at 100 MB/s, as nobody has measured it
  EXPECT_THAT(in_words(*answer.plan), HasSubstr("27 layers and 20 GiB at " + short_text(id(2)) + " (host)"));
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

TEST_F(SplitPlanTest, TheContextIsWhatAllSharesHaveRoomFor) {
  add(1, 16);
  add(2, 24);
  EXPECT_EQ(plan().plan->context, 0u) << "nobody has said what the cells are for";
  query.model.context = query.model.max_context = 8192;
  const auto least = *plan().plan;
  EXPECT_EQ(least.context, 8192u);
  query.model.max_context = 131'072;
  const auto roomy = *plan().plan;
  // 16 layers and half a GB of buffers at the smaller node leave 4.3 GB for 100 kB a token, of which three quarters.
  EXPECT_EQ(roomy.context, 24'576u);
  for (std::size_t i = 0; i < roomy.shares.size(); ++i) {
    EXPECT_EQ(roomy.shares[i].layers, least.shares[i].layers);
    EXPECT_EQ(roomy.shares[i].weights, least.shares[i].weights);
    EXPECT_GE(roomy.shares[i].cache, 3 * least.shares[i].cache);
    EXPECT_LE(roomy.shares[i].total(), query.nodes[i].memory);
  }
  query.model.max_context = 20'000;
  EXPECT_EQ(plan().plan->context, 20'000u) << "never more than it may have";
  query.nodes[0].memory = 12 * kGB;
  query.model.max_context = 131'072;
  EXPECT_LT(plan().plan->context, 24'576u) << "the tightest node decides";
  query.nodes[0].memory = 8 * kGB + 750'000'000;
  EXPECT_EQ(plan().plan->context, 8192u) << "never less than alone";
}

TEST_F(SplitPlanTest, ContextsThatMakeNoSenseBookNothing) {
  add(1, 16);
  add(2, 24);
  const auto usual = *plan().plan;
  query.model.max_context = ~std::uint64_t{0};
  for (const std::uint64_t context : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
    query.model.context = context;
    const auto odd = *plan().plan;
    EXPECT_EQ(odd.context, context);
    EXPECT_EQ(odd.shares, usual.shares);
  }
}

TEST_F(SplitPlanTest, WhatFitsAloneIsNotSplitUnlessTold) {
  add(1, 12);
  add(2, 40);
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::fits_alone);
  query.ordered = true;
  const auto answer = plan();
  ASSERT_TRUE(answer.plan);
  EXPECT_EQ(answer.plan->shares.size(), 2u);
}

// What is free moves from moment to moment: who was told to host does.
// A load there goes by its own settings: what was planned by what others have would fail at its nodes.
TEST_F(SplitPlanTest, AHostIsPlannedWithItsOwnSettings) {
  add(1, 12, false);
  add(2, 32);
  query.nodes[1].as_host = query.model;
  query.nodes[1].as_host->cache_bytes = 100'000'000;
  query.nodes[1].as_host->context = query.nodes[1].as_host->max_context = 8192;
  auto answer = plan();
  ASSERT_TRUE(answer.plan) << "it can't hold it alone: " << answer.shortage->text;
  EXPECT_EQ(answer.plan->context, 8192u);
  for (const auto& share : answer.plan->shares) EXPECT_EQ(share.cache, share.layers * 100'000'000ULL);
  query.nodes[1].as_host->cache_bytes = 800'000'000;
  answer = plan();
  ASSERT_FALSE(answer.plan);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::no_memory);
  // As a worker of another host it is as good as any.
  query.nodes[0].has_file = true;
  answer = plan();
  ASSERT_TRUE(answer.plan) << answer.shortage->text;
  EXPECT_EQ(answer.plan->host, id(1));
}

TEST_F(SplitPlanTest, WhoWasToldHosts) {
  add(1, 30);
  add(2, 40);
  query.ordered = true;
  EXPECT_EQ(plan().plan->host, id(2));
  query.host = id(1);
  EXPECT_EQ(plan().plan->host, id(1));
  query.nodes.front().has_file = false;
  EXPECT_EQ(plan().plan->host, id(2)) << "it can't";
}

// A part without a layer is a worker that computes nothing.
TEST_F(SplitPlanTest, WhoIsNamedAndCantHoldALayerIsSaid) {
  add(1, 1, false);
  add(2, 40);
  query.ordered = true;
  const auto answer = plan();
  ASSERT_TRUE(answer.shortage);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::no_memory);
  EXPECT_EQ(answer.shortage->need, 1'250'000'000u);
  EXPECT_EQ(answer.shortage->have, kGB);
  EXPECT_EQ(answer.shortage->text, "n1 lends 954 MiB, and a share with one layer needs 1.2 GiB there");
  query.nodes.front().memory = 2 * kGB;
  ASSERT_TRUE(plan().plan);
  EXPECT_EQ(plan().plan->shares.front().layers, 1u);
  query.nodes.front().works = false;
  EXPECT_THAT(plan().shortage->text, HasSubstr("no worker can run"));
}

TEST_F(SplitPlanTest, EachWorkerHasALayerAndTheHostMayMakeDoWithTheOutput) {
  query.model.layers = 2;
  query.ordered = true;
  add(1, 40, false);
  add(2, 39, false);
  add(3, 38);
  const auto answer = plan();
  ASSERT_TRUE(answer.plan) << answer.shortage->text;
  EXPECT_EQ(answer.plan->host, id(3));
  for (const auto& share : answer.plan->shares) EXPECT_EQ(share.layers, share.node == id(3) ? 0u : 1u);
  add(4, 40, false);
  EXPECT_EQ(plan().shortage->text, "it has 2 layers, too few for 4 nodes: name fewer nodes");
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
  query.nodes[1].memory += 40'000'000;  // the host's engine
  const auto answer = plan();
  ASSERT_TRUE(answer.shortage);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::no_memory);
  EXPECT_EQ(answer.shortage->have, 24 * kGB + 40'000'000);
  // 15 and 14 of 40 layers.
  EXPECT_EQ(answer.shortage->need - answer.shortage->have, 11 * 750'000'000ULL);
  EXPECT_THAT(answer.shortage->text, HasSubstr("2 nodes lend 22 GiB together: 7.7 GiB short"));
}

TEST_F(SplitPlanTest, TheNetworkMayTakeThirtyPercentOfAToken) {
  query.model = {40, 70'000'000, 5'000'000, kGB / 10, kGB / 20};  // 2.9 GB: 145 ms for each token, and a worker's 2.5
  add(1, 2);
  add(2, 2);
  // 2 round trips of 31 ms are 62 of 209.5 ms; of 32 ms 64 of 211.5.
  link(1, 2).round_trip_us = 31'000;
  EXPECT_TRUE(plan().plan);
  link(1, 2).round_trip_us = 32'000;
  const auto answer = plan();
  ASSERT_TRUE(answer.shortage);
  EXPECT_EQ(answer.shortage->obstacle, SplitObstacle::too_slow);
  EXPECT_THAT(answer.shortage->text, HasSubstr("64.0 of the 211.5 ms of each token; at most 30 % is allowed"));
  query.ordered = true;
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
  query.ordered = true;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_links);
  // One with most memory that nobody reaches is in nobody's way.
  query.ordered = false;
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
  query.ordered = true;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_memory);
  for (unsigned number = 1; number <= 3; ++number) add(number, 1);
  for (auto& node : query.nodes) node.memory = ~0ULL;
  EXPECT_EQ(plan().shortage->obstacle, SplitObstacle::no_memory);
  query.model = {};
  EXPECT_THAT(plan().shortage->text, HasSubstr("too few for 3 nodes"));
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
