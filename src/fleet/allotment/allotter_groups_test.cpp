// What nodes do about models that are served by several of them, decided by the plan or by hand.
#include "fleet/allotment/allotter.h"
#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

TEST_F(AllotterTest, AModelThatNeedsTwoNodesIsHostedOnceAndThenLeftAlone) {
  world.models = {{"big", 30}};
  auto &one = node(1, {"big"}), &two = node(2);
  one.memory = 22 * kGB;
  two.memory = 20 * kGB;
  begin();
  EXPECT_THAT(one.took(), ElementsAre("hosts big over n2 n1: demand"));
  pass(10min);
  node(3).memory = 40 * kGB;  // somebody joins: what works isn't disturbed
  world.start();
  pass(5min);
  EXPECT_THAT(one.took(), IsEmpty());
  EXPECT_THAT(two.took(), IsEmpty());
  EXPECT_EQ(world.node_state[1].groups.front().stage, mesh::GroupStage::standing);
  EXPECT_EQ(world.node_state[2].shares.size(), 1u);
}

TEST_F(AllotterTest, AHostGetsTheFileBeforeItHosts) {
  world.models = {{"big", 30}};
  node(1, {"big"}).memory = 1 * kGB;
  auto &two = node(2), &three = node(3);
  int ordered = 0;
  for (auto* one : {&two, &three}) {
    one->memory = 20 * kGB;
    one->copy = [&](const mesh::MeshModel&, bool) {
      ++ordered;
      return Result<>();
    };
  }
  begin(30s);
  EXPECT_EQ(ordered, 1);
  EXPECT_THAT(two.took(), IsEmpty());
  EXPECT_THAT(three.took(), IsEmpty());
  for (auto* one : {&two, &three}) one->on_disk.push_back("big");
  pass(90s);
  EXPECT_EQ(two.took().size() + three.took().size(), 1u);
}

TEST_F(AllotterTest, ABlipChangesNothingAndALossIsPlannedAnew) {
  world.models = {{"big", 30}};
  auto &one = node(1, {"big"}), &two = node(2), &three = node(3);
  one.memory = 22 * kGB;
  two.memory = three.memory = 20 * kGB;
  begin();
  const auto first = one.took();
  ASSERT_EQ(first.size(), 1u);
  const unsigned other = first.front().contains("n2") ? 2 : 3;
  world.cut(other);
  pass(4s);
  world.heal(other);
  pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());
  world.cut(other);
  pass(1min);
  EXPECT_THAT(one.took(), ElementsAre(other == 2 ? "hosts big over n3 n1: loss" : "hosts big over n2 n1: loss"));
  world.heal(other);
  pass(5min);
  EXPECT_THAT(one.took(), IsEmpty());
}

TEST_F(AllotterTest, AGroupThatNobodyCanHaveAnyMoreEnds) {
  world.models = {{"big", 30}};
  auto& one = node(1, {"big"});
  one.memory = 22 * kGB;
  node(2).memory = 20 * kGB;
  begin();
  one.took();
  world.cut(2);
  pass(1min);
  EXPECT_THAT(one.took(), ElementsAre("ends big"));
  const auto& unserved = one.allotter->view()->allocation.unserved;
  ASSERT_EQ(unserved.size(), 1u);
  EXPECT_THAT(unserved.front().why, HasSubstr("short"));
  world.heal(2);
  pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("hosts big over n2 n1: demand"));
}

TEST_F(AllotterTest, AnIdleGroupIsGivenBackAndRests) {
  world.models = {{"big", 30}};
  auto& one = node(1, {"big"});
  one.memory = 22 * kGB;
  node(2).memory = 20 * kGB;
  begin();
  one.took();
  one.groups.begin()->second.idle_ms = 64 * 60'000;
  pass(30min);
  EXPECT_THAT(one.took(), ElementsAre("ends big"));
  EXPECT_EQ(world.node_state[1].resting.size(), 1u);
}

TEST_F(AllotterTest, AWorkerThatIsToldSomethingElseTakesItsShareBack) {
  world.models = {{"big", 30}, {"a", 4}};
  auto& one = node(1, {"big"});
  auto& two = node(2, {"a"});
  one.memory = 22 * kGB;
  two.memory = 20 * kGB;
  world.start();
  two.allotter->assign(std::nullopt);
  two.allotter->release();
  pass(10s);
  ASSERT_THAT(one.took(), ElementsAre("hosts big over n2 n1: demand"));
  two.allotter->assign(AllotMarks::Named{"a", AllotWorld::key("a")});
  pass(20s);
  EXPECT_THAT(two.took(), ElementsAre("takes back"));
}

// The host of an idle split had no reason to end it, and its worker waited for that.
TEST_F(AllotterTest, AWorkerTakesItsShareBackForWhatIsAskedForMore) {
  world.models = {{"big", 30}, {"a", 4}};
  auto &one = node(1, {"big"}), &two = node(2);
  one.memory = 22 * kGB;
  two.memory = 20 * kGB;
  one.takes_copies = false;
  begin();
  ASSERT_THAT(one.took(), ElementsAre("hosts big over n2 n1: demand"));
  two.on_disk = {"a"};
  two.asked["a"] = 100;
  pass(20s);
  EXPECT_THAT(two.took(), IsEmpty()) << "it has just been used";
  one.groups.begin()->second.idle_ms = 5 * 60'000;
  pass(20s);
  EXPECT_THAT(two.took(), ElementsAre("takes back"));
  EXPECT_THAT(one.took(), IsEmpty());
}

TEST_F(AllotterTest, ASplitByHandStandsUntilItIsUnloaded) {
  world.models = {{"a", 6}};
  auto &one = node(1, {"a"}), &two = node(2);
  one.memory = 20 * kGB;
  begin();
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("a"), {one.id, two.id}));
  pass(15s);
  EXPECT_THAT(one.took(), ElementsAre("unloads a", "hosts a over n2 n1: told"));
  pass(3h);
  EXPECT_THAT(one.took(), IsEmpty());
  one.groups.clear();  // its owner has unloaded it
  pass(5s);
  EXPECT_THAT(world.node_state[1].split_orders, IsEmpty());
}

// Told anew, over other nodes, what stands is planned anew: the allocation by itself leaves it alone.
TEST_F(AllotterTest, ASplitByHandMovesWhenSomebodySaysSo) {
  world.models = {{"a", 6}};
  auto &one = node(1, {"a"}), &two = node(2), &three = node(3);
  one.memory = 20 * kGB;
  begin();
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("a"), {one.id, two.id}));
  pass(15s);
  (void)one.took();
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("a"), {one.id, three.id}));
  EXPECT_THAT(one.took(), ElementsAre("hosts a over n3 n1: told"));
  pass(1h);
  EXPECT_THAT(one.took(), IsEmpty());
}

TEST_F(AllotterTest, ASplitThatCantBeSaysWhy) {
  world.models = {{"a", 30}, {"b", 4}};
  auto &one = node(1, {"a"}), &two = node(2, {"b"}), &three = node(3);
  two.works = false;
  three.engine = "0.4.0";
  begin(3s);
  const auto why = [&](const std::string& model, std::vector<mesh::NodeId> nodes) {
    const auto split = one.allotter->split(AllotWorld::key(model), std::move(nodes));
    return split ? std::string() : split.error().message;
  };
  EXPECT_THAT(why("a", {one.id}), HasSubstr("name two nodes"));
  EXPECT_THAT(why("a", {one.id, mesh::test_key(9).id()}), HasSubstr("can't be reached"));
  EXPECT_THAT(why("a", {one.id, one.id}), HasSubstr("named twice"));
  EXPECT_THAT(why("a", {one.id, two.id}), HasSubstr("no worker can run at 'n2'"));
  EXPECT_THAT(why("a", {one.id, three.id}), HasSubstr("0.4.0"));
  EXPECT_EQ(
      why("b", {one.id, three.id}),
      "none of these nodes has 'b' on its disk, and the host needs it: run `corral mesh pull b` on one of them first");
  EXPECT_THAT(why("none", {one.id, two.id}), HasSubstr("no reachable node"));
  three.engine = "0.5.0";
  one.memory = three.memory = 14 * kGB;
  pass(1s);
  EXPECT_THAT(why("a", {one.id, three.id}), HasSubstr("short"));
  two.role = mesh::Role::client;
  pass(1s);
  EXPECT_THAT(why("b", {two.id, three.id}), HasSubstr("mesh_role is client"));
}

}  // namespace
}  // namespace corral::fleet
