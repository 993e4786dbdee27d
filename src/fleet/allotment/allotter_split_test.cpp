// Splits that go at once, and models that are hashed while something is done with them.
#include <array>

#include "base/log.h"
#include "fleet/allotment/allot_split.h"
#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class AllotterSplitTest : public testing::Test {
 protected:
  AllotterSplitTest() { log::set_level(log::Level::none); }
  TestNode& node(unsigned number, std::vector<std::string> on_disk = {}) {
    auto& made = world.add(number, std::move(on_disk));
    made.memory = 20 * kGB;
    made.role = mesh::Role::member;
    return made;
  }
  // Its group is there under the new key, as RunnerGroupControl shows it.
  static void rename_groups(TestNode& of, const std::string& name) {
    std::map<ContentKey, HostedGroup> renamed;
    for (auto& [key, group] : of.groups) {
      group.plan.model = AllotWorld::key(name);
      renamed.emplace(group.plan.model, group);
    }
    of.groups = std::move(renamed);
  }
  AllotWorld world;
};

// It was planned anew, and kept the nodes from the next one that was asked for.
TEST_F(AllotterSplitTest, OneThatIsUnloadedAtOnceIsNotPlannedAgain) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.start();
  world.pass(12s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  for (int i = 0; i < 40 && one.groups.empty(); ++i) world.pass(250ms);
  ASSERT_EQ(one.groups.size(), 1u);
  one.took();
  one.groups.clear();  // somebody has unloaded it, before anybody looked again
  one.allotter->look();
  world.pass(30s);
  EXPECT_THAT(one.took(), IsEmpty());
}

// Another member's words made it the owner's own here: loaded in place of what the owner has, and never given back.
TEST_F(AllotterSplitTest, WhatSomebodySaidToAnotherNodeIsHostedForTheMesh) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2), &three = node(3, {"m"});
  world.start();
  world.pass(12s);
  ASSERT_TRUE(three.allotter->split(AllotWorld::key("m"), {three.id, one.id, two.id}));
  world.pass(10s);
  ASSERT_EQ(three.groups.size(), 1u);
  EXPECT_TRUE(three.groups.begin()->second.by_hand);
  three.on_disk.clear();
  three.groups.clear();
  world.pass(60s);
  ASSERT_EQ(one.groups.size(), 1u);
  EXPECT_FALSE(one.groups.begin()->second.by_hand);
}

// It was forgotten with the one before it.
TEST_F(AllotterSplitTest, OneThatIsOrderedAgainAtOnceIsMade) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.start();
  world.pass(12s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  ASSERT_EQ(one.took().size(), 1u);
  one.groups.clear();
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  EXPECT_EQ(one.took().size(), 1u);
  EXPECT_EQ(one.groups.size(), 1u);
}

// A second group was planned for its hash, which could never have the nodes that the first one had.
TEST_F(AllotterSplitTest, OneWhoseFileIsHashedStaysTheSame) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.unhashed = {"m"};
  world.start();
  world.pass(12s);
  const auto before = world.catalog(one.id)->models().front().content;
  ASSERT_TRUE(before.pending);
  ASSERT_TRUE(one.allotter->split(before, {one.id, two.id}));
  world.pass(10s);
  ASSERT_EQ(one.took().size(), 1u);
  world.unhashed.clear();
  rename_groups(one, "m");
  world.pass(60s);
  EXPECT_THAT(one.took(), IsEmpty());
  EXPECT_TRUE(world.node_state[1].declined.empty());
  EXPECT_EQ(world.node_state[1].split_orders.size(), 1u);
}

// It was taken for one that had gone, and declined.
TEST_F(AllotterSplitTest, ALentModelWhoseFileIsHashedIsNotLost) {
  world.models = {{"m", 8}};
  auto& one = node(1, {"m"});
  world.unhashed = {"m"};
  one.asked["m"] = 64;
  world.start();
  one.have("m");
  world.pass(12s);
  one.took();
  world.unhashed.clear();
  world.pass(12s);
  EXPECT_TRUE(world.node_state[1].declined.empty());
  EXPECT_THAT(one.took(), IsEmpty());
}

// It was forgotten ten seconds after one of its nodes went.
TEST_F(AllotterSplitTest, OneThatIsOrderedWaitsForItsNodes) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.start();
  world.pass(12s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("hosts m over n2 n1: told"));
  world.kill(2);
  world.pass(1min);
  EXPECT_THAT(one.took(), ElementsAre("ends m"));
  EXPECT_EQ(world.node_state[1].split_orders.size(), 1u);
  EXPECT_TRUE(world.node_state[1].declined.empty());
  const auto& unsplit = one.allotter->view()->allocation.unsplit;
  ASSERT_EQ(unsplit.size(), 1u);
  EXPECT_THAT(unsplit.front().why, HasSubstr("n2 can't be reached"));
  // A request has it loaded alone meanwhile, and that is left alone.
  one.have("m");
  world.pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());
  world.heal(2);
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("unloads m", "hosts m over n2 n1: told"));
  EXPECT_TRUE(one.groups.begin()->second.by_hand);
  // Until somebody unloads it.
  world.kill(2);
  world.pass(1min);
  one.took();
  one.allotter->unload(std::array{AllotWorld::key("m")});
  world.heal(2);
  world.pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());
  EXPECT_TRUE(world.node_state[1].split_orders.empty());
}

// Its own group refused the load in the look that gave that group up, and the model was declined for half a minute.
TEST_F(AllotterSplitTest, OneThatEndsLeavesItsModelToItsHost) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  one.asked["m"] = 2;
  world.start();
  world.pass(1s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(12s);
  EXPECT_THAT(one.took(), ElementsAre("hosts m over n2 n1: told"));
  world.kill(2);
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("ends m", "loads m"));
  EXPECT_TRUE(world.node_state[1].declined.empty());
}

// Nor is an order to have it alone tried before the group has gone.
TEST_F(AllotterSplitTest, OneThatEndsLeavesItsModelToAnOrder) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.start();
  world.pass(1s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(12s);
  one.took();
  world.kill(2);
  one.allotter->assign(AllotMarks::Named{"m", AllotWorld::key("m")});
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("ends m", "loads m"));
  EXPECT_TRUE(world.node_state[1].declined.empty());
}

// What fits nowhere alone is held by others meanwhile, and leaves them once nobody uses it.
TEST_F(AllotterSplitTest, OneThatIsOrderedIsHeldByOthersMeanwhile) {
  world.models = {{"m", 30}};
  auto &one = node(1, {"m"}), &two = node(2);
  node(3);
  one.asked["m"] = 2;
  world.start();
  world.pass(2s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("hosts m over n2 n1: told"));
  world.kill(2);
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("hosts m over n3 n1: loss"));
  world.heal(2);
  world.pass(1min);
  EXPECT_THAT(one.took(), IsEmpty());
  one.groups.begin()->second.idle_ms = 60'000;
  world.pass(10s);
  EXPECT_THAT(one.took(), ElementsAre("ends m", "hosts m over n2 n1: told"));
  world.pass(1h);
  EXPECT_THAT(one.took(), IsEmpty());
}

// What it is ordered once more has stayed the same: memory moves, and the plan that stands doesn't with it.
TEST_F(AllotterSplitTest, OneThatStandsIsLeftAsItIsByTheSameOrder) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2);
  world.start();
  world.pass(12s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  one.took();
  const auto plan = one.groups.begin()->second.plan.split;
  two.memory = 14 * kGB;
  world.pass(1s);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {two.id, one.id}));
  EXPECT_EQ(one.groups.begin()->second.plan.split, plan);
  world.pass(10s);
  EXPECT_EQ(one.groups.begin()->second.plan.split, plan);
  EXPECT_EQ(world.node_state[1].split_orders.size(), 1u);
}

// It was made by itself, and is ordered like that.
TEST_F(AllotterSplitTest, OneThatStandsByItselfIsRememberedWhenItIsOrdered) {
  world.models = {{"m", 30}};
  auto &one = node(1, {"m"}), &two = node(2);
  one.asked["m"] = 2;
  world.start();
  world.pass(12s);
  ASSERT_THAT(one.took(), ElementsAre("hosts m over n2 n1: demand"));
  ASSERT_FALSE(one.groups.begin()->second.by_hand);
  const auto plan = one.groups.begin()->second.plan.split;
  two.memory = 19 * kGB;
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  EXPECT_EQ(one.groups.begin()->second.plan.split, plan);
  EXPECT_TRUE(one.groups.begin()->second.by_hand);
  one.groups.begin()->second.idle_ms = 64 * 60'000;
  one.took();
  world.pass(1h);
  EXPECT_THAT(one.took(), IsEmpty()) << "what was ordered isn't given back for idleness";
}

// After some requests one more was no step of the rate, and what it added was rounded away: nobody heard of it.
TEST_F(AllotterSplitTest, OneThatWasGivenBackIsWantedByTheNextRequest) {
  world.models = {{"m", 30}};
  auto &one = node(1, {"m"}), &two = node(2);
  const ModelName m("m");
  for (int i = 0; i < 18; ++i) two.requests.count(m);
  world.start();
  world.pass(12s);
  ASSERT_THAT(one.took(), ElementsAre("hosts m over n2 n1: demand"));
  const auto is_given_back = [&] {
    return !world.node_state[1].resting.empty() || !world.node_state[1].unloads.empty();
  };
  for (const bool by_order : {false, true}) {
    if (by_order) {
      one.allotter->unload(std::array{AllotWorld::key("m")});
    } else {
      one.groups.begin()->second.idle_ms = 30 * 60'000;
    }
    world.pass(30s);
    EXPECT_THAT(one.took(), ElementsAre("ends m")) << by_order;
    EXPECT_TRUE(is_given_back()) << by_order;
    const auto waiting = two.requests.wait(m);
    world.pass(1500ms);
    EXPECT_FALSE(is_given_back()) << by_order;
    world.pass(4s);
    EXPECT_THAT(one.took(), ElementsAre("hosts m over n2 n1: demand")) << by_order;
  }
}

TEST_F(AllotterSplitTest, ItsIdleLimitIsKeptToTheSecond) {
  world.models = {{"m", 30}};
  auto &one = node(1, {"m"}), &two = node(2);
  one.idle_unload = two.idle_unload = 15s;
  one.asked["m"] = 2;
  world.start();
  world.pass(12s);
  ASSERT_THAT(one.took(), ElementsAre("hosts m over n2 n1: demand"));
  one.groups.begin()->second.idle_ms = 14'999;
  world.pass(5s);
  EXPECT_THAT(one.took(), IsEmpty());
  one.groups.begin()->second.idle_ms = 15'000;
  world.pass(5s);
  EXPECT_THAT(one.took(), ElementsAre("ends m"));
}

// It was waited for a minute and a half, for what only another order could end.
TEST_F(AllotterSplitTest, NodesOfAnotherOrderAreRefusedAtOnce) {
  world.models = {{"m", 8}, {"n", 6}};
  auto &one = node(1, {"m", "n"}), &two = node(2), &three = node(3);
  world.start();
  world.pass(12s);
  const auto why = [&](std::vector<mesh::NodeId> nodes) {
    const auto split = one.allotter->split(AllotWorld::key("n"), std::move(nodes));
    return split ? std::string() : split.error().message;
  };
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(1s);
  EXPECT_EQ(why({one.id, three.id}), "'n1' holds 'm' by another order: end that first with `corral mesh unload m`");
  one.allotter->end_split(AllotWorld::key("m"));
  world.pass(1s);
  three.allotter->assign(AllotMarks::Named{"m", AllotWorld::key("m")});
  world.pass(1s);
  EXPECT_EQ(why({one.id, three.id}),
            "'n3' is assigned to another model: free it first with `corral mesh assign n3 auto`");
  three.allotter->assign(std::nullopt);
  world.pass(1s);
  EXPECT_EQ(why({one.id, three.id}), "'n3' is assigned to no model: free it first with `corral mesh assign n3 auto`");
  EXPECT_EQ(why({one.id, two.id}), "");
}

// Who has it like that stays its host.
TEST_F(AllotterSplitTest, TheSameOrderGoesToWhoHostsItAlready) {
  world.models = {{"m", 8}};
  auto &one = node(1, {"m"}), &two = node(2, {"m"});
  two.memory = 30 * kGB;
  world.start();
  world.pass(12s);
  const auto host = [&](std::vector<mesh::NodeId> nodes) {
    return host_over(*world.catalog(two.id), AllotWorld::key("m"), std::move(nodes));
  };
  EXPECT_EQ(host({one.id, two.id}), std::nullopt);
  ASSERT_TRUE(one.allotter->split(AllotWorld::key("m"), {one.id, two.id}));
  world.pass(10s);
  EXPECT_EQ(host({one.id, two.id}), one.id);
  EXPECT_EQ(host({two.id, one.id}), one.id);
  EXPECT_EQ(host({one.id}), std::nullopt);
}

// Its host was cut off when the newer one was given to another node, and comes back with the one that it knows.
TEST_F(AllotterSplitTest, AnOlderOneOfAHostThatWasCutOffReplacesNoNewerOne) {
  world.models = {{"m", 6}};
  auto &one = node(1, {"m"}), &two = node(2, {"m"});
  node(3);
  // Who comes first of equals has the older one.
  auto *older = one.id < two.id ? &one : &two, *newer = older == &one ? &two : &one;
  world.start();
  world.pass(12s);
  const auto& third = world.at(3).id;
  ASSERT_TRUE(older->allotter->split(AllotWorld::key("m"), {older->id, third}));
  world.pass(1s);
  world.kill(older == &one ? 1 : 2);
  older->groups.clear();
  world.pass(10s);
  ASSERT_TRUE(newer->allotter->split(AllotWorld::key("m"), {newer->id, third}));
  world.pass(10s);
  EXPECT_THAT(newer->took(), ElementsAre(testing::StartsWith("hosts m over")));
  older->took();
  world.heal(older == &one ? 1 : 2);
  world.pass(2min);
  for (auto* at : {&one, &two, &world.at(3)}) {
    const auto view = at->allotter->view();
    EXPECT_EQ(view->situation.models.front().split_host, newer->id) << at->name;
    EXPECT_THAT(at->took(), IsEmpty()) << at->name;
  }
  // Whoever orders it now replaces that one, wherever it is given.
  ASSERT_TRUE(older->allotter->split(AllotWorld::key("m"), {older->id, third}));
  world.pass(1s);
  EXPECT_EQ(newer->allotter->view()->situation.models.front().split_host, older->id);
}

// However much memory others have just now: else who was told would wait for the group of somebody else.
TEST_F(AllotterSplitTest, WhoWasToldHosts) {
  world.models = {{"m", 6}};
  auto &one = node(1, {"m"}), &two = node(2, {"m"});
  world.start();
  world.pass(12s);
  for (auto* target : {&one, &two}) {
    auto* other = target == &one ? &two : &one;
    other->memory = 30 * kGB;
    target->memory = 20 * kGB;
    world.pass(1s);
    (void)one.took(), (void)two.took();
    ASSERT_TRUE(target->allotter->split(AllotWorld::key("m"), {one.id, two.id}));
    world.pass(15s);
    EXPECT_THAT(target->took(), testing::Contains(HasSubstr("hosts m over")));
    EXPECT_THAT(other->took(), testing::Not(testing::Contains(HasSubstr("hosts"))));
    target->allotter->end_split(AllotWorld::key("m"));
    EXPECT_THAT(target->took(), ElementsAre("ends m"));
    world.pass(15s);
  }
}

// What is short by how much is told by who has what, also where nothing is decided otherwise.
TEST_F(AllotterSplitTest, MemoryThatChangesNothingIsANewViewAllTheSame) {
  world.models = {{"big", 30}};
  auto &one = node(1, {"big"}), &two = node(2);
  one.memory = 10 * kGB;
  two.memory = 8 * kGB;
  world.start();
  world.pass(2min);
  int views = 0;
  while (std::exchange(views, one.views) != one.views) world.pass(5min);
  two.memory = 2 * kGB;
  world.pass(1min);
  EXPECT_GT(one.views, views);
}

}  // namespace
}  // namespace corral::fleet
