// What is served over several nodes comes back soon when one of them is known to be gone, and not for a blip.
#include "base/log.h"
#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

class AllotterLossTest : public testing::Test {
 protected:
  AllotterLossTest() {
    log::set_level(log::Level::none);
    world.models = {{"big", 30}};
    for (const unsigned number : {1U, 2U, 3U}) {
      auto& node = world.add(number, number < 3 ? std::vector<std::string>{"big"} : std::vector<std::string>());
      node.memory = (24 - number) * kGB;
    }
    world.start();
    world.pass(12s);
  }
  TestNode& at(unsigned number) { return world.at(number); }
  // The node that hosts it, and one that works for it.
  unsigned host() const {
    for (const auto& [number, node] : world.nodes)
      if (!node->groups.empty()) return number;
    return 0;
  }
  unsigned worker() {
    const auto& shares = at(host()).groups.begin()->second.plan.split.shares;
    for (const unsigned number : {1U, 2U, 3U})
      if (number != host() && shares.front().node == at(number).id) return number;
    return 0;
  }
  // How long until somebody plans it anew; all that was done by then.
  Millis until_planned(Millis limit) {
    for (auto& [number, node] : world.nodes) node->took();
    for (Millis time = 0ms; time < limit; time += 250ms) {
      world.pass(250ms);
      for (auto& [number, node] : world.nodes) {
        if (world.gone.contains(number)) continue;
        for (const auto& action : node->took())
          if (action.starts_with("hosts")) return time + 250ms;
      }
    }
    return limit;
  }
  AllotWorld world;
};

TEST_F(AllotterLossTest, AWorkerWhoseProcessEndedIsReplacedAtOnce) {
  const auto first = host();
  ASSERT_NE(first, 0u);
  world.kill(worker());
  EXPECT_LE(until_planned(20s), 1s);
  EXPECT_EQ(host(), first);
}

// It was waited for five seconds, and two more.
TEST_F(AllotterLossTest, AHostWhoseProcessEndedIsReplacedAtOnce) {
  const auto first = host();
  ASSERT_NE(first, 0u);
  auto& gone = at(first);
  world.kill(first);
  gone.groups.clear();
  EXPECT_LE(until_planned(20s), 1s);
  EXPECT_NE(host(), first);
  world.pass(5s);
  EXPECT_TRUE(at(host()).groups.begin()->second.running);
}

TEST_F(AllotterLossTest, AHostThatIsOnlyCutOffIsWaitedFor) {
  const auto first = host();
  world.cut(first);
  const auto took = until_planned(20s);
  EXPECT_GE(took, 5s);
  EXPECT_LE(took, 7s);
}

TEST_F(AllotterLossTest, ABlipOfAHostChangesNothing) {
  const auto first = host();
  world.cut(first);
  EXPECT_EQ(until_planned(4s), 4s);
  world.heal(first);
  EXPECT_EQ(until_planned(60s), 60s);
}

// What was given back is no loss: it is planned again with the time that all plans have to settle.
TEST_F(AllotterLossTest, WhatWasGivenBackSettlesFirst) {
  at(host()).allotter->end_split(AllotWorld::key("big"));
  EXPECT_GE(until_planned(20s), Allotter::kSettle);
}

}  // namespace
}  // namespace corral::fleet
