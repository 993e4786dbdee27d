// What nodes do about an allocation, and above all what they leave alone.
#include "fleet/allotment/allotter.h"

#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class AllotterTest : public testing::Test {
 protected:
  TestNode& node(unsigned number, std::vector<std::string> on_disk = {}) {
    return world.add(number, std::move(on_disk));
  }
  void pass(Millis time) { world.pass(time); }
  std::size_t serving(const std::string& model) const {
    std::size_t count = 0;
    for (const auto& [number, node] : world.nodes) count += node->lent.contains(model) ? 1 : 0;
    return count;
  }
  void begin(Millis time = 10s) {
    world.start();
    pass(time);
  }

  AllotWorld world;
};

TEST_F(AllotterTest, WorkersShareTheModelsOutAndThenNothingHappens) {
  world.models = {{"a", 4}, {"b", 3}};
  auto &one = node(1, {"a", "b"}), &two = node(2, {"a", "b"});
  begin();
  EXPECT_EQ(serving("a") + serving("b"), 2u);
  EXPECT_EQ(serving("a"), 1u);
  EXPECT_EQ(one.took().size() + two.took().size(), 2u);
  for (int minute = 0; minute < 10; ++minute) {
    pass(1min);
    EXPECT_THAT(one.took(), IsEmpty());
    EXPECT_THAT(two.took(), IsEmpty());
  }
}

TEST_F(AllotterTest, AModelThatNobodyAsksForRestsUntilSomebodyDoes) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.idle_unload = 5min;
  begin();
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  pass(20min);
  EXPECT_THAT(one.took(), ElementsAre("unloads a"));
  EXPECT_EQ(world.node_state[1].resting, std::vector{AllotWorld::key("a")});
  pass(60min);
  EXPECT_THAT(one.took(), IsEmpty());
  one.asked["a"] = 4;
  pass(5s);
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  EXPECT_THAT(world.node_state[1].resting, IsEmpty());
}

TEST_F(AllotterTest, WhatTheCoreGaveBackForIdlenessRests) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.idle_unload = 5min;
  begin();
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  pass(5min - 11s);
  one.lose("a");  // at the very moment, before the allocation has seen that it is idle
  pass(60min);
  EXPECT_THAT(one.took(), IsEmpty());
}

// Nobody looked at the time: it was unloaded for idleness, loaded again, and so on.
TEST_F(AllotterTest, AnOrderedModelIsNeverIdleForItsLimit) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.idle_unload = 15s;
  world.start();
  one.allotter->assign(AllotMarks::Named{"a", AllotWorld::key("a")});
  pass(5s);
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  EXPECT_TRUE(one.allotter->is_assigned(AllotWorld::key("a")));
  for (int seconds = 0; seconds < 300; ++seconds) {
    pass(1s);
    ASSERT_TRUE(one.lent.contains("a"));
    EXPECT_LT(world.timers.now() - one.lent["a"].used, 12s);
  }
  one.allotter->release();
  EXPECT_FALSE(one.allotter->is_assigned(AllotWorld::key("a")));
}

// What requests do by themselves: it comes into memory, and that is all that there is to do.
TEST_F(AllotterTest, AModelThatARequestHasLoadedElsewhereIsntLoadedHere) {
  world.models = {{"a", 4}};
  auto &one = node(1, {"a"}), &two = node(2, {"a"});
  one.memory = 8 * kGB;  // the first to choose
  one.role = mesh::Role::member;
  one.asked = {{"a", 2}};
  world.start();
  pass(1s);
  two.have("a", true);
  pass(5min);
  EXPECT_THAT(one.took(), IsEmpty());
  EXPECT_THAT(two.took(), IsEmpty());
}

TEST_F(AllotterTest, AModelThatARequestHasLoadedAgainIsServed) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.idle_unload = 5min;
  begin();
  pass(20min);
  EXPECT_THAT(one.took(), ElementsAre("loads a", "unloads a"));
  one.have("a");
  pass(12s);
  EXPECT_THAT(world.node_state[1].resting, IsEmpty());
  EXPECT_THAT(one.took(), IsEmpty());
}

TEST_F(AllotterTest, WhatANodeLosesGoesToAnotherAndNotBack) {
  world.models = {{"a", 4}};
  auto &one = node(1, {"a"}), &two = node(2, {"a"});
  one.memory = 8 * kGB;
  two.memory = 9 * kGB;
  one.have("a");
  two.role = mesh::Role::member;
  two.asked["a"] = 2;
  begin();
  EXPECT_THAT(one.took(), IsEmpty());
  one.lose("a");  // its owner needed the memory
  pass(10s);
  EXPECT_THAT(two.took(), ElementsAre("loads a"));
  EXPECT_THAT(one.took(), IsEmpty());
}

TEST_F(AllotterTest, ALoadThatFailsIsTriedMoreAndMoreSeldomAndLeftToOthers) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.broken = {"a"};
  begin();
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  EXPECT_EQ(world.node_state[1].declined, std::vector{AllotWorld::key("a")});
  pass(30min);
  EXPECT_LE(one.took().size(), 7u);  // after 30 s, 1, 2, 4, 8, 10 minutes
  auto& two = node(2, {"a"});
  pass(11min);
  world.start();
  pass(1min);
  EXPECT_THAT(two.took(), ElementsAre("loads a"));
}

TEST_F(AllotterTest, WhoHasOnlyJustComeIsHeardFirst) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  auto& two = node(2, {"a"});
  one.role = mesh::Role::member;
  one.asked = {{"a", 2}};
  two.memory = 32 * kGB;
  two.looking = true;
  world.start();
  pass(5s);
  EXPECT_THAT(one.took(), IsEmpty());
  two.looking = false;
  two.have("a", true);
  pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());
  EXPECT_THAT(two.took(), IsEmpty());
}

TEST_F(AllotterTest, AnOrderIsObeyedAtOnceKeptAndOutlivesARestart) {
  world.models = {{"a", 4}, {"b", 2}};
  auto& one = node(1, {"a", "b"});
  begin();
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
  one.lent["a"].busy = true;
  one.allotter->assign(AllotMarks::Named{"b", AllotWorld::key("b")});
  pass(3s);
  EXPECT_THAT(one.took(), ElementsAre("drains a", "loads b"));
  pass(3h);
  for (const auto& deed : one.took()) EXPECT_EQ(deed, "uses b");
  one.restart();
  pass(5s);
  EXPECT_THAT(one.took(), ElementsAre("loads b"));
  one.allotter->release();
  pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());  // nobody moves it
  EXPECT_EQ(world.node_state[1].order, std::nullopt);
}

TEST_F(AllotterTest, AnOrderThatCantBeObeyedIsTriedMoreAndMoreSeldom) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.broken = {"a"};
  world.start();
  one.allotter->assign(AllotMarks::Named{"a", AllotWorld::key("a")});
  pass(30min);
  EXPECT_LE(one.took().size(), 8u);
  one.broken.clear();
  pass(11min);
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
}

TEST_F(AllotterTest, ANodeIsToldToHaveNothing) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  begin();
  one.allotter->assign(std::nullopt);
  pass(10min);
  EXPECT_THAT(one.took(), ElementsAre("loads a", "unloads a"));
  one.restart();
  pass(10min);
  EXPECT_THAT(one.took(), IsEmpty());
  one.allotter->release();
  pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
}

TEST_F(AllotterTest, AModelThatANodeIsStartedForIsWaitedForByItsName) {
  world.models = {{"a", 4}, {"b", 2}};
  auto& one = node(1, {"a"});
  one.started_for = "b";
  begin();
  EXPECT_THAT(one.took(), IsEmpty());
  node(2, {"b"}).role = mesh::Role::client;
  world.start();
  one.copy = {};
  one.on_disk.push_back("b");
  pass(5s);
  EXPECT_THAT(one.took(), ElementsAre("loads b"));
}

TEST_F(AllotterTest, WhatSomebodyUnloadsStaysAwayUntilItIsAskedFor) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  auto& two = node(2, {"a"});
  two.memory = 32 * kGB;
  begin();
  one.took();
  two.took();
  ASSERT_EQ(serving("a"), 2u);  // there is nothing else for the second one
  one.allotter->unload(std::array{AllotWorld::key("a")});
  two.allotter->unload(std::array{AllotWorld::key("a")});
  pass(10min);
  EXPECT_THAT(one.took(), ElementsAre("unloads a"));
  EXPECT_THAT(two.took(), ElementsAre("unloads a"));
  one.restart();
  two.restart();
  pass(10min);
  EXPECT_THAT(one.took(), IsEmpty());
  two.have("a");  // for a request
  pass(1min);
  EXPECT_THAT(world.node_state[1].unloads, IsEmpty());
  EXPECT_EQ(serving("a"), 2u);
}

// What is used isn't given back, and asking about it costs little.
TEST_F(AllotterTest, WhatIsUsedAtThatMomentIsLeftAlone) {
  world.models = {{"a", 4}, {"b", 4}};
  auto& one = node(1, {"a", "b"});
  one.memory = 6 * kGB;
  one.have("a");
  begin();
  pass(2min);
  EXPECT_THAT(one.took(), IsEmpty());
  one.asked = {{"b", 8}};
  one.have("a", true);  // a request has just come, and nobody else knows yet
  auto before = world.node_state[1];
  pass(1min);
  EXPECT_EQ(serving("a"), 1u);
  EXPECT_LE(one.took().size(), 1u);
  one.have("a");
  pass(3min);
  EXPECT_THAT(one.took(), ElementsAre("unloads a", "loads b"));
}

TEST_F(AllotterTest, AFileIsFetchedOnce) {
  world.models = {{"a", 4}};
  auto& one = node(1, {"a"});
  one.memory = 2 * kGB;
  auto& two = node(2);
  std::vector<bool> ordered;
  two.copy = [&](const mesh::MeshModel&, bool told) {
    ordered.push_back(told);
    return Result<>();
  };
  begin();
  EXPECT_EQ(ordered, std::vector{false});
  pass(30s);
  EXPECT_EQ(ordered.size(), 1u);
  two.on_disk.push_back("a");
  pass(90s);
  EXPECT_THAT(two.took(), ElementsAre("loads a"));
}

// Who comes just after a file was put there waits for it, and takes nothing else meanwhile.
TEST_F(AllotterTest, AFileThatIsBeingHashedIsWaitedFor) {
  world.models = {{"a", 4}, {"b", 3}};
  world.unhashed = {"a"};
  auto& one = node(1, {"a"});
  one.memory = 2 * kGB;
  node(2, {"b"}).have("b");
  auto& three = node(3, {"b"});
  int ordered = 0;
  three.copy = [&](const mesh::MeshModel&, bool) {
    ++ordered;
    return Result<>();
  };
  begin(1min);
  EXPECT_EQ(ordered, 0);
  EXPECT_THAT(world.node_state[3].declined, IsEmpty());
  EXPECT_THAT(three.took(), IsEmpty());
  world.unhashed.clear();
  pass(5s);
  EXPECT_EQ(ordered, 1);
}

TEST_F(AllotterTest, WhoMayNotFetchAFileLeavesItToOthers) {
  world.models = {{"a", 4}};
  node(1, {"a"}).memory = 2 * kGB;
  auto &two = node(2), &three = node(3);
  int there = 0;
  two.memory = 8 * kGB;
  two.copy = [&](const mesh::MeshModel&, bool) -> Result<> { return fail(errc::copy_failed, "no"); };
  three.copy = [&](const mesh::MeshModel&, bool) {
    ++there;
    return Result<>();
  };
  begin(20s);
  EXPECT_EQ(there, 1);
}

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
