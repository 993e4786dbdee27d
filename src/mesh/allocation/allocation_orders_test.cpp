// What people tell nodes, and what nodes tell of themselves.
#include <gmock/gmock.h>

#include "mesh/allocation/allocation_fixture_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class OrdersTest : public AllocationFixture {};

TEST_F(OrdersTest, AnOrderGoesBeforeEverything) {
  model("a", 4);
  model("b", 2);
  node(1, 16, {"a", "b"}).order = NodeOrder{key("b")};
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 b alone told"));
}

TEST_F(OrdersTest, WhatIsThereIsGivenBackFirst) {
  model("a", 4);
  model("b", 2);
  node(1, 16, {"a", "b"}).order = NodeOrder{key("b")};
  hold(1, "a");
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 a goes: told", "n1 b alone told waits"));
}

TEST_F(OrdersTest, WhatWasToldIsKept) {
  model("a", 4);
  model("b", 4).per_hour = 100;
  node(1, 6, {"a", "b"}).order = NodeOrder{key("a")};
  hold(1, "a", 100'000);
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a alone keeps"));
}

TEST_F(OrdersTest, ANodeIsToldToBeEmpty) {
  model("a", 4);
  node(1, 16, {"a"}).order = NodeOrder{};
  hold(1, "a");
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 a goes: told"));
  at(1).holds.clear();
  EXPECT_THAT(decided(), ElementsAre("- a taken"));
}

TEST_F(OrdersTest, AModelIsUnloadedEverywhere) {
  model("a", 4).unload_ordered = true;
  node(1, 16, {"a"});
  node(2, 16, {"a"});
  for (const unsigned number : {1U, 2U}) {
    hold(number, "a");
    at(number).gives_back = {key("a")};
  }
  EXPECT_THAT(decided(), ElementsAre("- a told", "n1 a goes: told", "n2 a goes: told"));
}

TEST_F(OrdersTest, WhoWasntToldToUnloadKeepsItAndNobodyElseGetsIt) {
  model("a", 4).unload_ordered = true;
  node(1, 16, {"a"}).gives_back = {key("a")};
  node(2, 16, {"a"});
  hold(2, "a");
  EXPECT_THAT(decided(), ElementsAre("n2 a alone keeps"));
}

TEST_F(OrdersTest, OfASplitItsHostIsToldToUnload) {
  model("big", 30).unload_ordered = true;
  node(1, 20, {"big"});
  node(2, 20).gives_back = {key("big")};
  hold_shares(1, {2}, "big");
  EXPECT_THAT(decided(), ElementsAre("n1 big share keeps", "n2 big share keeps"));
  at(1).gives_back = {key("big")};
  EXPECT_THAT(decided(), ElementsAre("- big told", "n1 big goes: told", "n2 big goes: told"));
}

class NamedSplitTest : public AllocationFixture {
 protected:
  void split(const std::string& name, const std::vector<unsigned>& over) {
    for (const auto number : over) of(name).split_over.push_back(id(number));
    std::ranges::sort(of(name).split_over);
  }
};

TEST_F(NamedSplitTest, IsHeldByThoseNodesAndNoOthers) {
  model("a", 4);
  model("b", 2);
  for (const unsigned number : {1U, 2U, 3U}) node(number, 16, {"a", "b"}, number == 2 ? Role::member : Role::worker);
  split("a", {1, 2});
  EXPECT_THAT(decided(), ElementsAre("n1 a share told", "n2 a share told", "n3 b alone unserved"));
}

// It was given back and given out in turn.
TEST_F(NamedSplitTest, WhatItsHostWasToldBeforeTheOrderDoesntCount) {
  model("a", 4).unload_ordered = true;
  node(1, 16, {"a"}).gives_back = {key("a")};
  node(2, 16);
  split("a", {1, 2});
  hold_shares(1, {2}, "a");
  EXPECT_THAT(decided(), ElementsAre("n1 a share keeps", "n2 a share keeps"));
}

// Nobody could have served it: alone it wasn't to be, and it isn't split where one node can hold it.
TEST_F(NamedSplitTest, AnOrderWithoutNodesForWhatFitsOneChangesNothing) {
  model("a", 4);
  for (const unsigned number : {1U, 2U}) node(number, 16, {"a"});
  split("a", {});
  EXPECT_THAT(decided(), ElementsAre("n1 a replica biggest", "n2 a alone unserved"));
}

TEST_F(NamedSplitTest, IsHostedByWhoWasTold) {
  model("a", 4);
  for (const unsigned number : {1U, 2U}) node(number, 16 * number, {"a"});
  split("a", {1, 2});
  EXPECT_EQ(decide().splits.front().plan.host, id(2));
  of("a").split_host = id(1);
  EXPECT_EQ(decide().splits.front().plan.host, id(1));
}

// Other nodes still say that they were told to unload it, or that it rests.
TEST_F(NamedSplitTest, AnOrderCountsMoreThanUnloadsBeforeIt) {
  model("a", 4).unload_ordered = true;
  of("a").resting = true;
  node(1, 16, {"a"});
  node(2, 16);
  EXPECT_THAT(decided(), ElementsAre("- a told"));
  split("a", {1, 2});
  EXPECT_THAT(decided(), ElementsAre("n1 a share told", "n2 a share told"));
}

TEST_F(NamedSplitTest, WhatIsInTheWayGoesOnceItIsIdle) {
  model("a", 4);
  model("b", 2).per_hour = 100;
  node(1, 16, {"a"});
  node(2, 16, {"b"});
  hold(1, "a");
  hold(2, "b", 59);
  split("a", {1, 2});
  const auto before = decide();
  EXPECT_THAT(lines(before), ElementsAre("n1 a alone keeps", "n2 b alone keeps"));
  ASSERT_EQ(before.unsplit.size(), 1u);
  EXPECT_THAT(before.unsplit.front().why,
              HasSubstr("n2 has b, last used 59 s ago: it is unloaded after 60 s without requests"));
  at(2).holds.front().idle_ms = 60'000;
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a goes: told", "n1 a share told waits", "n2 a share told waits",
                                     "n2 b goes: wanted_elsewhere"));
}

// While one of its nodes is away it is a model as any other, and it is said who is missing.
TEST_F(NamedSplitTest, WaitsForItsNodesAndIsServedMeanwhile) {
  model("a", 4);
  node(1, 16, {"a"}, Role::member);
  node(2, 16, {}, Role::member);
  split("a", {1, 2});
  EXPECT_THAT(decided(), ElementsAre("n1 a share told", "n2 a share told"));
  situation.nodes.pop_back();
  situation.away[id(2)] = "n2";
  EXPECT_THAT(decided(), ElementsAre("- a not_asked"));
  of("a").per_hour = 1;
  EXPECT_THAT(decided(), ElementsAre("n1 a alone unserved"));
  hold(1, "a");
  const auto served = decide();
  EXPECT_THAT(lines(served), ElementsAre("n1 a alone keeps"));
  ASSERT_EQ(served.unsplit.size(), 1u);
  EXPECT_THAT(served.unsplit.front().why, HasSubstr("a: n2 can't be reached"));
  // It is back.
  situation.away.clear();
  links.clear();
  node(2, 16, {}, Role::member);
  links.push_back({id(1), id(2), 200, 0});
  EXPECT_THAT(decided(), ElementsAre("n1 a goes: told", "n1 a share told waits", "n2 a share told waits"));
  // Without a link to its host it can't be, either.
  links.clear();
  const auto apart = decide();
  EXPECT_THAT(lines(apart), ElementsAre("n1 a alone keeps"));
  EXPECT_THAT(apart.unsplit.front().why, HasSubstr("no links to one host"));
}

TEST_F(NamedSplitTest, IsHeldByOthersMeanwhileAndComesBackOnceNobodyUsesIt) {
  model("big", 30);
  for (const unsigned number : {1U, 3U}) node(number, 20, number == 1 ? Lines{"big"} : Lines{});
  split("big", {1, 2});
  EXPECT_THAT(decided(), ElementsAre("n1 big share completes", "n3 big share completes"));
  hold_shares(1, {3}, "big", 59);
  node(2, 20);
  EXPECT_THAT(decided(), testing::IsSupersetOf({"n1 big share keeps", "n3 big share keeps"}));
  for (const unsigned number : {1U, 3U}) at(number).holds.front().idle_ms = 60'000;
  EXPECT_THAT(decided(), ElementsAre("n1 big goes: told", "n1 big share told waits", "n2 big share told waits",
                                     "n3 big goes: told"));
  // That is for the order: by itself nobody who works is moved.
  of("big").split_over.clear();
  EXPECT_THAT(decided(), testing::IsSupersetOf({"n1 big share keeps", "n3 big share keeps"}));
}

// Two orders, given on both sides of a cut: what stands is left alone, and who waits is told for what.
TEST_F(NamedSplitTest, WhatWasOrderedBeforeEndsByAnOrder) {
  model("a", 4);
  for (const unsigned number : {1U, 2U, 3U, 4U}) node(number, 16, {"a"});
  hold_shares(3, {4}, "a", 600);
  for (const unsigned number : {3U, 4U}) at(number).holds.front().by_hand = true;
  split("a", {1, 2});
  const auto before = decide();
  ASSERT_EQ(before.unsplit.size(), 1u);
  EXPECT_THAT(before.unsplit.front().why, HasSubstr("by an earlier order (end it: corral mesh unload a)"));
  for (const unsigned number : {3U, 4U}) {
    at(number).holds.front().by_hand = false;
    at(number).holds.front().idle_ms = 1000;
  }
  EXPECT_THAT(decide().unsplit.front().why, HasSubstr("unloads it after 60 s without requests"));
  for (const unsigned number : {3U, 4U}) at(number).holds.front().idle_ms = 60'000;
  EXPECT_TRUE(decide().unsplit.empty());
}

TEST_F(NamedSplitTest, WhoElseHasItMayGiveItBackAndItIsServedAllTheSame) {
  model("a", 4).per_hour = 1;
  model("b", 4).per_hour = 100;
  node(1, 16, {"a"});
  node(2, 16, {"a"});
  node(3, 16, {"a", "b"});
  hold(3, "a", 600);
  split("a", {1, 2});
  EXPECT_THAT(decided(), ElementsAre("n1 a share told", "n2 a share told", "n3 a goes: wanted_elsewhere",
                                     "n3 b alone unserved waits"));
}

TEST_F(NamedSplitTest, OnceItStandsItStaysAlsoWhenItIsIdle) {
  model("a", 4);
  model("b", 4).per_hour = 100;
  node(1, 6, {"a", "b"});
  node(2, 6, {"b"});
  split("a", {1, 2});
  hold_shares(1, {2}, "a", 100'000);
  for (const unsigned number : {1U, 2U}) at(number).holds.front().by_hand = true;
  EXPECT_THAT(decided(), ElementsAre("- b taken", "n1 a share keeps", "n2 a share keeps"));
}

TEST_F(OrdersTest, WhoDeclinesAModelLeavesItToOthers) {
  model("a", 4);
  node(1, 16, {"a"}).declines = {key("a")};
  const auto alone = decide();
  EXPECT_THAT(lines(alone), ElementsAre("- a declined"));
  node(2, 16, {"a"});
  EXPECT_THAT(decided(), ElementsAre("n2 a alone unserved"));
}

TEST_F(OrdersTest, AModelThatIsBeingCopiedIsCopiedOnceOnly) {
  model("a", 4).per_hour = 10;
  node(1, 2, {"a"});
  node(2, 16);
  node(3, 8);
  EXPECT_THAT(decided(), testing::Contains("n3 a alone fetch copy"));
  of("a").copying = {id(2)};
  EXPECT_THAT(decided(), ElementsAre("n2 a alone fetch copy"));
}

TEST_F(OrdersTest, ANodeThatWasToldWaitsForItsGroup) {
  model("big", 30);
  model("a", 4);
  node(1, 20, {"big", "a"}).order = NodeOrder{key("big")};
  EXPECT_THAT(decided(), ElementsAre("- a taken", "- big no_memory", "n1 big standby biggest"));
  node(2, 20, {"a"});
  EXPECT_THAT(decided(), ElementsAre("- a taken", "n1 big share completes", "n2 big share completes"));
}

}  // namespace
}  // namespace corral::mesh
