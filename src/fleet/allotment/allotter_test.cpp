// What nodes do about an allocation, and above all what they leave alone.
#include "fleet/allotment/allotter.h"

#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

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
  for (const auto& action : one.took()) EXPECT_EQ(action, "uses b");
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
  two.copy = [&](const mesh::MeshModel&, bool by_user) {
    ordered.push_back(by_user);
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

}  // namespace
}  // namespace corral::fleet
