#include "mesh/allocation/situation.h"

#include <gmock/gmock.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

class SituationTest : public CatalogFixture {
 protected:
  Situation situation() { return make_situation(*(kept = catalog()), news); }
  const AllocationNode& at(unsigned number) {
    seen = situation();
    return *std::ranges::find(seen.nodes, id(number), &AllocationNode::id);
  }
  const AllocationModel& of(const std::string& content) {
    seen = situation();
    return *std::ranges::find(seen.models, ContentKey{sha256({content}), false}, &AllocationModel::content);
  }
  AllocationNews news;
  Situation seen;
  std::shared_ptr<const Catalog> kept;
};

TEST_F(SituationTest, MemoryIsWhatIsLentAlsoOfThisNode) {
  add(1, Reach::own).said.memory = {{"cpu", false, 64 * kGB, 32 * kGB, 4 * kGB, 40 * kGB},
                                    {"cuda0", true, 24 * kGB, 24 * kGB, 0, 20 * kGB}};
  EXPECT_EQ(at(1).cpu.most, 40 * kGB);
  EXPECT_EQ(at(1).cpu.idle, 36 * kGB);
  EXPECT_EQ(at(1).gpu.most, 20 * kGB);
  add(2, Reach::linked, 8);
  EXPECT_EQ(at(2).gpu.most, 8 * kGB);  // it has no other
}

TEST_F(SituationTest, WhatNodesHaveInMemory) {
  auto& node = add(2, Reach::linked);
  disk(node, "m", "x");
  auto& served = serve(node, "m");
  served.lent = true;
  served.bytes = 3 * kGB;
  served.idle_ms = 500;
  disk(node, "own", "y");
  serve(node, "own", ServingState::loading).idle_ms = 9;
  const auto& holds = at(2).holds;
  ASSERT_EQ(holds.size(), 2u);
  const auto lent = std::ranges::find(holds, HeldModel::Use::lent, &HeldModel::use);
  EXPECT_EQ(lent->bytes, 3 * kGB);
  EXPECT_EQ(lent->idle_ms, 500u);
  EXPECT_EQ(std::ranges::find(holds, HeldModel::Use::hosted, &HeldModel::use)->idle_ms, 0u);
}

TEST_F(SituationTest, ModelsBringWhatIsKnownOfThemAnywhere) {
  disk(add(1, Reach::own), "m", "x").may_copy = false;
  auto& there = disk(add(2, Reach::linked), "other-name", "x");
  there.predicted = 5 * kGB;
  there.device = Device::gpu;
  there.checkpoint = "org/repo:Q4";
  const auto& model = of("x");
  EXPECT_EQ(model.need, 5 * kGB);
  EXPECT_TRUE(model.gpu && model.may_copy && model.may_download);
  EXPECT_FALSE(model.wished);
}

TEST_F(SituationTest, NamesAreTheSameAtEachNode) {
  disk(add(1, Reach::linked), "b", "x");
  disk(add(2, Reach::linked), "a", "x");
  std::set<std::string> names;
  for (const unsigned own : {1U, 2U}) {
    nodes[own].reach = Reach::own;
    nodes[3 - own].reach = Reach::linked;
    names.insert(of("x").name);
  }
  EXPECT_EQ(names, std::set<std::string>{"a"});
}

TEST_F(SituationTest, DemandIsSummedOverEntriesAndMeansTheirOwnModels) {
  auto& one = add(1, Reach::own);
  auto& other = add(2, Reach::linked);
  disk(one, "m", "x");
  disk(other, "m", "y");
  add(3, Reach::linked).said.demand = {{"m", 100}, {"m@" + hash8({sha256({"y"}), false}), 7}};
  one.said.demand = {{"m", 3}};
  other.said.demand = {{"m", 4}};
  EXPECT_DOUBLE_EQ(of("x").per_hour, 3);
  EXPECT_DOUBLE_EQ(of("y").per_hour, 11);  // what somebody else calls m could be either
}

TEST_F(SituationTest, WishesCountForFilesAndForWhatNobodyHas) {
  add(1, Reach::own).said.wants = {{"m", "org/m"}, {"nowhere", "org/repo"}};
  disk(add(2, Reach::linked), "m", "x");
  EXPECT_TRUE(of("x").wished);
  const auto& wish = *std::ranges::find(seen.models, "nowhere", &AllocationModel::name);
  EXPECT_TRUE(wish.wished && wish.may_download);
  EXPECT_EQ(wish.need, 0u);
}

TEST_F(SituationTest, AGroupIsHeldByAllItsNodes) {
  disk(add(1, Reach::own), "m", "x");
  serve(nodes[1], "m").lent = true;
  add(2, Reach::linked);
  const ContentKey model{sha256({"x"}), false};
  news.groups = {{model, id(1), {{id(1), 4 * kGB}, {id(2), 3 * kGB}, {id(9), kGB}}, 70, false}};
  for (const unsigned number : {1U, 2U}) {
    const auto& holds = at(number).holds;
    ASSERT_EQ(holds.size(), 1u);
    EXPECT_EQ(holds.front().use, HeldModel::Use::share);
    EXPECT_EQ(holds.front().host, id(1));
    EXPECT_EQ(holds.front().idle_ms, 70u);
  }
}

TEST_F(SituationTest, WhoIsGoneIsThereForAMoment) {
  auto& node = add(2, Reach::away);
  disk(node, "m", "x");
  serve(node, "m").lent = true;
  disk(add(1, Reach::own), "m", "x");
  EXPECT_EQ(situation().nodes.size(), 1u);
  news.just_gone = {id(2)};
  EXPECT_TRUE(at(2).just_gone);
  EXPECT_EQ(at(2).holds.size(), 1u);
}

TEST_F(SituationTest, SpeedAndLinksAreWhatWasMeasured) {
  auto& node = add(1, Reach::own);
  disk(node, "m", "x", 4).tokens_per_second = 10;
  disk(node, "n", "y", 1).tokens_per_second = 50;
  node.said.links = {{id(2), 300, 117'000'000}};
  add(2, Reach::linked);
  EXPECT_EQ(at(1).speed, 50 * kGB);
  EXPECT_EQ(seen.links.find(id(2), id(1))->round_trip_us, 300u);
}

TEST_F(SituationTest, NewsIsTakenOver) {
  disk(add(1, Reach::own), "m", "x");
  const ContentKey model{sha256({"x"}), false};
  news.recalled = {id(1)};
  news.told[id(1)] = Order{model};
  news.resting = news.unload_told = news.split_told = {model};
  EXPECT_TRUE(at(1).recalled);
  EXPECT_EQ(at(1).told->model, model);
  EXPECT_TRUE(of("x").resting && seen.models.front().unload_told && seen.models.front().split_told);
}

}  // namespace
}  // namespace corral::mesh
