// Long because all that groups do is shown on the same few nodes.
// A few nodes with everything arriving at once, and time that is turned by hand. What may go wrong on the way is the
// matter of tests/simulation/groups.
#include "mesh/groups/groups.h"

#include <deque>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class GroupsTest : public testing::Test {
 protected:
  // Numbers stand in the order of ids.
  GroupsTest() {
    for (unsigned number = 0; number < 5; ++number) ids.push_back(test_key(number + 1).id());
    std::ranges::sort(ids);
    for (unsigned number = 0; number < 5; ++number) {
      nodes.emplace_back(Groups::Options{ids[number], 1, std::nullopt, number, {}}, now);
      nodes.back().lend(100);
    }
    for (unsigned a = 0; a < 5; ++a) {
      for (unsigned b = 0; b < 5; ++b) {
        if (a != b) nodes[a].link_up(ids[b], 1, now);
      }
    }
  }
  unsigned number_of(const NodeId& id) const { return static_cast<unsigned>(std::ranges::find(ids, id) - ids.begin()); }
  GroupPlan plan(unsigned host, const std::vector<unsigned>& workers, const std::string& model = "m",
                 std::uint32_t layers = 10) {
    GroupPlan plan;
    plan.model = {sha256({model}), false};
    plan.split.host = ids[host];
    for (const auto worker : workers) plan.split.shares.push_back({ids[worker], layers, 10, 1, 1});
    plan.split.shares.push_back({ids[host], layers, 10, 1, 1});
    return plan;
  }
  void want(unsigned host, const GroupPlan& wanted, PlanCause cause = PlanCause::ordered) {
    (void)nodes[host].want(wanted, cause, now);
    run();
  }
  void cut(unsigned a, unsigned b, LinkEnd how = LinkEnd::cut) {
    cuts.insert({a, b});
    cuts.insert({b, a});
    nodes[a].link_down(ids[b], how, now, now);
    nodes[b].link_down(ids[a], how, now, now);
    for (const auto& [host, other] : {std::pair(a, b), std::pair(b, a)}) {
      const auto& hosted = nodes[host].hosted();
      if (!hosted.empty() && hosted.begin()->second.plan().share_of(ids[other])) end_engine(host);  // its tunnel ended
    }
    run();
  }
  void heal(unsigned a, unsigned b, std::uint64_t epoch_of_b = 1) {
    cuts.erase({a, b});
    cuts.erase({b, a});
    nodes[a].link_up(ids[b], epoch_of_b, now);
    nodes[b].link_up(ids[a], 1, now);
    run();
  }
  void end_engine(unsigned host) {
    if (!engines.contains(host)) return;
    const auto [model, of] = engines.at(host);
    engines.erase(host);
    nodes[host].engine_ended(model, of, now);
  }
  void run() {
    for (bool more = true; more;) {
      more = false;
      for (unsigned at = 0; at < nodes.size(); ++at) {
        for (const auto& effect : nodes[at].take()) {
          more = true;
          carry_out(at, effect);
        }
      }
    }
  }
  void carry_out(unsigned at, const GroupEffect& effect) {
    if (const auto* sent = std::get_if<SendMessage>(&effect)) {
      const auto to = number_of(sent->to);
      if (std::holds_alternative<GrantRequest>(sent->message)) asked.push_back(to);
      if (!cuts.contains({at, to}) && !deaf.contains(to)) nodes[to].message(ids[at], sent->message, now);
    } else if (const auto* start = std::get_if<StartEngine>(&effect)) {
      engines[at] = {start->plan.model, start->of};
      log.push_back(fmt::format("{} starts", at));
    } else if (std::holds_alternative<DrainEngine>(effect)) {
      log.push_back(fmt::format("{} drains", at));
    } else if (std::holds_alternative<StopEngine>(effect)) {
      log.push_back(fmt::format("{} stops", at));
      end_engine(at);
    } else if (const auto* open = std::get_if<OpenWorker>(&effect)) {
      log.push_back(fmt::format("{} opens for {}", at, number_of(open->host)));
    } else if (std::holds_alternative<ReapWorker>(effect)) {
      log.push_back(fmt::format("{} reaps", at));
      if (!slow.contains(at)) nodes[at].worker_reaped(now);
    }
  }
  void pass(Millis time) {
    for (const auto end = now + time; now < end;) {
      now += kGroupTick;
      for (auto& node : nodes) node.tick(now);
      run();
    }
  }
  std::vector<std::string> take_log() { return std::exchange(log, {}); }
  GroupHost::State state(unsigned host, const std::string& model = "m") {
    return nodes[host].hosted().at({sha256({model}), false}).state();
  }

  BootTime now{Millis(5000)};
  std::vector<NodeId> ids;
  std::deque<Groups> nodes;
  std::set<std::pair<unsigned, unsigned>> cuts;
  std::set<unsigned> deaf, slow;  // hear nothing; don't end what they ran
  std::map<unsigned, std::pair<ContentKey, PlanTerm>> engines;
  std::vector<unsigned> asked;
  std::vector<std::string> log;
};

TEST_F(GroupsTest, ClaimsGoInTheOrderOfIdsAndThenTheEngineStarts) {
  want(2, plan(2, {4, 0}));
  pass(kGroupTick);
  EXPECT_THAT(asked, ElementsAre(0, 4));  // it asks itself without a message
  EXPECT_THAT(take_log(), ElementsAre("0 opens for 2", "2 opens for 2", "4 opens for 2", "2 starts"));
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, AGroupThatStandsGoesOn) {
  want(2, plan(2, {4, 0}));
  pass(Millis(1000));
  take_log();
  pass(Millis(3'600'000));
  EXPECT_THAT(take_log(), IsEmpty());
}

TEST_F(GroupsTest, NothingIsClaimedBeforeAllLinksAreUp) {
  cut(2, 4);
  want(2, plan(2, {4, 0}));
  pass(Millis(60'000));
  EXPECT_THAT(asked, IsEmpty());
  heal(2, 4);
  pass(kGroupTick);
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, WhatCannotBeCompletedIsGivenBack) {
  deaf.insert(4);
  want(2, plan(2, {4, 0}));
  pass(Millis(3500));
  EXPECT_EQ(state(2), GroupHost::State::waiting);
  EXPECT_EQ(nodes[0].granter().state(), GrantManager::State::free);
  EXPECT_EQ(nodes[2].granter().state(), GrantManager::State::free);
  EXPECT_EQ(nodes[2].hosted().begin()->second.refusal()->node, ids[4]);
  deaf.clear();
  pass(Millis(5000));
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, ALinkThatEndsBeforeItsNodeIsAskedEndsTheClaim) {
  for (const bool comes_back : {false, true}) {
    auto& host = nodes[2];
    want(2, plan(2, {0, 1, 4}));
    host.tick(now);
    const auto first = host.take();
    ASSERT_EQ(first.size(), 1u);
    nodes[0].message(ids[2], std::get<SendMessage>(first.front()).message, now);
    host.message(ids[0], std::get<SendMessage>(nodes[0].take().back()).message, now);
    const auto second = host.take();
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(std::get<SendMessage>(second.front()).to, ids[1]);
    EXPECT_TRUE(host.hosted().begin()->second.lease_of(ids[0]));
    cut(2, 4);
    nodes[1].message(ids[2], std::get<SendMessage>(second.front()).message, now);
    host.message(ids[1], std::get<SendMessage>(nodes[1].take().back()).message, now);
    if (comes_back) heal(2, 4);
    pass(kGroupTick);
    EXPECT_EQ(state(2), GroupHost::State::waiting);
    EXPECT_EQ(host.hosted().begin()->second.refusal()->node, ids[4]);
    EXPECT_EQ(nodes[0].granter().state(), GrantManager::State::free);
    EXPECT_EQ(nodes[1].granter().state(), GrantManager::State::free);
    heal(2, 4);
    pass(Millis(4000));
    EXPECT_EQ(state(2), GroupHost::State::standing);
    nodes[2].end({sha256({"m"}), false}, now);
    run();
    nodes[2].engine_drained({sha256({"m"}), false}, engines.at(2).second, now);
    run();
    ASSERT_TRUE(host.hosted().empty());
  }
}

TEST_F(GroupsTest, NobodyWaitsForAnAnswerWhileALinkOfThePlanIsGone) {
  deaf.insert(1);
  want(2, plan(2, {0, 1, 4}));
  pass(kGroupTick);
  EXPECT_EQ(state(2), GroupHost::State::claiming);
  cut(2, 4);
  pass(kGroupTick);
  EXPECT_EQ(state(2), GroupHost::State::waiting);
  EXPECT_EQ(nodes[0].granter().state(), GrantManager::State::free);
}

TEST_F(GroupsTest, OfTwoHostsOneGetsTheNodes) {
  want(2, plan(2, {0, 1}, "a"));
  want(3, plan(3, {0, 1}, "b"));
  pass(Millis(300'000));
  EXPECT_EQ(state(2, "a") == GroupHost::State::standing, true);
  EXPECT_EQ(state(3, "b"), GroupHost::State::waiting);
  EXPECT_EQ(nodes[3].hosted().begin()->second.refusal()->verdict, GrantDecision::taken);
  EXPECT_EQ(nodes[0].granter().grant()->host, ids[2]);
  nodes[2].end({sha256({"a"}), false}, now);
  run();
  nodes[2].engine_drained({sha256({"a"}), false}, engines.at(2).second, now);
  run();
  EXPECT_TRUE(nodes[2].hosted().empty());
  pass(Millis(60'000));
  EXPECT_EQ(state(3, "b"), GroupHost::State::standing);
}

TEST_F(GroupsTest, BackOffsGrowAndAreBounded) {
  want(2, plan(2, {0}, "a"));
  want(3, plan(3, {0}, "b"));
  pass(Millis(60'000));
  asked.clear();
  pass(Millis(1'200'000));
  const auto tries = std::ranges::count(asked, 0u) - 1'200'000 / 2500;
  EXPECT_GT(tries, 1'200'000 / 60'000 - 2);
  EXPECT_LT(tries, 1'200'000 / 15'000);
}

TEST_F(GroupsTest, AnUnchangedPlanRestartsNothing) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  auto same = plan(2, {4});
  same.split.token_ms = 99;
  EXPECT_FALSE(nodes[2].want(same, PlanCause::ordered, now));
  pass(Millis(1000));
  EXPECT_THAT(take_log(), IsEmpty());
}

TEST_F(GroupsTest, APlanThatIsOnlyBetterChangesNothingThatWorks) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  EXPECT_FALSE(nodes[2].want(plan(2, {3}), PlanCause::better, now));
  cut(2, 0);
  heal(2, 0, 2);
  pass(Millis(1000));
  EXPECT_THAT(take_log(), ElementsAre("2 opens for 2", "4 opens for 2", "2 starts"));
}

TEST_F(GroupsTest, AChangedPlanDrainsFirst) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  want(2, plan(2, {3}), PlanCause::demand);
  pass(Millis(100'000));
  EXPECT_THAT(take_log(), ElementsAre("2 drains"));
  nodes[2].engine_drained({sha256({"m"}), false}, engines.at(2).second, now);
  run();
  EXPECT_THAT(take_log(), ElementsAre("2 stops", "2 reaps", "4 reaps"));
  pass(kGroupTick);
  EXPECT_THAT(take_log(), ElementsAre("2 opens for 2", "3 opens for 2", "2 starts"));
}

TEST_F(GroupsTest, ABlipCostsTheEngineAndNotThePlan) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  cut(2, 4);
  pass(Millis(4750));
  EXPECT_THAT(nodes[2].lost({sha256({"m"}), false}, now), IsEmpty());
  heal(2, 4);
  pass(Millis(1000));
  EXPECT_THAT(take_log(), ElementsAre("2 starts"));
}

TEST_F(GroupsTest, ANodeIsLostAfterFiveSecondsOrWithItsProcess) {
  want(2, plan(2, {4, 3}));
  pass(Millis(1000));
  cut(2, 4);
  pass(Millis(5000));
  EXPECT_THAT(nodes[2].lost({sha256({"m"}), false}, now), ElementsAre(ids[4]));
  cut(2, 3, LinkEnd::ended);
  EXPECT_THAT(nodes[2].lost({sha256({"m"}), false}, now), ElementsAre(ids[3], ids[4]));
}

// It kept the others until the first of its leases ended, though there was nothing left to wait for.
TEST_F(GroupsTest, AHostThatLostANodeAndHasNoEngineGivesTheOthersBack) {
  want(2, plan(2, {4, 3}));
  pass(Millis(1000));
  take_log();
  cut(2, 4);
  pass(Millis(4750));
  EXPECT_THAT(take_log(), IsEmpty());
  EXPECT_EQ(state(2), GroupHost::State::standing);
  pass(kGroupTick);
  EXPECT_THAT(take_log(), ElementsAre("2 reaps", "3 reaps"));
  EXPECT_EQ(state(2), GroupHost::State::waiting);
  want(2, plan(2, {3}), PlanCause::loss);
  pass(kGroupTick);
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, NodesThatAreLostAreToldWhateverTheyHad) {
  EXPECT_THAT(nodes[0].lost(now), IsEmpty());
  nodes[0].link_down(ids[3], LinkEnd::ended, now, now);
  nodes[0].link_down(ids[1], LinkEnd::cut, now, now);
  EXPECT_THAT(nodes[0].lost(now), ElementsAre(ids[3]));
  pass(Millis(5000));
  EXPECT_THAT(nodes[0].lost(now), ElementsAre(ids[1], ids[3]));
  nodes[0].link_up(ids[3], 2, now);
  EXPECT_THAT(nodes[0].lost(now), ElementsAre(ids[1]));
}

TEST_F(GroupsTest, AHostStopsTwoSecondsBeforeItsLeaseEnds) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  // Nothing comes through, and no link knows of it.
  cuts = {{2, 4}, {4, 2}};
  const auto end = *nodes[2].hosted().begin()->second.lease_of(ids[4]);
  EXPECT_LE(end, nodes[4].granter().grant()->until);
  pass(end - Millis(2000) - now - kGroupTick);
  EXPECT_THAT(take_log(), IsEmpty());
  pass(kGroupTick);
  EXPECT_THAT(take_log(), ElementsAre("2 stops", "2 reaps"));
  EXPECT_EQ(nodes[4].granter().state(), GrantManager::State::granted);
  pass(Millis(2500));
  EXPECT_THAT(take_log(), testing::Contains("4 reaps"));
}

TEST_F(GroupsTest, ALeaseCountsFromTheQuestion) {
  auto& host = nodes[2];
  want(2, plan(2, {0}));
  host.tick(now);
  const auto effects = host.take();
  ASSERT_EQ(effects.size(), 1u);
  const auto asked_at = now;
  nodes[0].message(ids[2], std::get<SendMessage>(effects.front()).message, now += Millis(500));
  const auto answers = nodes[0].take();
  now += Millis(500);
  host.message(ids[0], std::get<SendMessage>(answers.back()).message, now);
  EXPECT_EQ(host.hosted().begin()->second.lease_of(ids[0]), asked_at + Millis(10'000));
  EXPECT_EQ(nodes[0].granter().grant()->until, asked_at + Millis(10'500));
}

TEST_F(GroupsTest, TheEndOfANodesProcessStopsItsHost) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  nodes[2].link_down(ids[4], LinkEnd::ended, now, now);
  run();
  EXPECT_THAT(take_log(), ElementsAre("2 stops", "2 reaps", "4 reaps"));
  EXPECT_EQ(state(2), GroupHost::State::waiting);
}

TEST_F(GroupsTest, TheEndOfTheHostsProcessFreesItsNodesAtOnce) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  nodes[4].link_down(ids[2], LinkEnd::ended, now, now);
  run();
  EXPECT_EQ(nodes[4].granter().state(), GrantManager::State::free);
  // A cut isn't an end: that one may still believe.
  want(3, plan(3, {4}, "other"));
  pass(Millis(60'000));
  nodes[4].link_down(ids[3], LinkEnd::cut, now, now);
  EXPECT_EQ(nodes[4].granter().state(), GrantManager::State::granted);
  // A new life of it is.
  nodes[4].link_up(ids[3], 2, now);
  run();
  EXPECT_EQ(nodes[4].granter().state(), GrantManager::State::free);
}

TEST_F(GroupsTest, ARecallDrainsInTime) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  nodes[4].recall(now);
  run();
  EXPECT_THAT(take_log(), ElementsAre("2 drains"));
  pass(Millis(25'500));
  EXPECT_THAT(take_log(), IsEmpty());
  pass(Millis(1000));
  EXPECT_THAT(take_log(), ElementsAre("2 stops", "2 reaps", "4 reaps"));
  pass(Millis(60'000));
  EXPECT_EQ(nodes[2].hosted().begin()->second.refusal()->verdict, GrantDecision::recalled);
  nodes[4].lend(100);
  pass(Millis(61'000));
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, AWorkerThatEndsSlowlyIsWaitedFor) {
  slow.insert(4);
  want(2, plan(2, {4}));
  pass(Millis(1000));
  want(2, plan(2, {4}, "m", 11), PlanCause::ordered);
  nodes[2].engine_drained({sha256({"m"}), false}, engines.at(2).second, now);
  run();
  pass(Millis(120'000));
  EXPECT_EQ(nodes[2].hosted().begin()->second.refusal()->verdict, GrantDecision::reaping);
  nodes[4].worker_reaped(now);
  pass(Millis(61'000));
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, AnEngineThatCrashesIsStartedAgainInItsGroup) {
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  end_engine(2);
  run();
  EXPECT_THAT(take_log(), IsEmpty());
  pass(Millis(2000));
  EXPECT_THAT(take_log(), ElementsAre("2 starts"));
  // One that was of use for a while isn't waited with.
  pass(Millis(60'000));
  end_engine(2);
  run();
  EXPECT_THAT(take_log(), ElementsAre("2 starts"));
}

TEST_F(GroupsTest, AnEngineThatEndsAtOnceLeavesTheNodesToOthers) {
  want(2, plan(2, {4}, "a"));
  const auto crash_for = [&](Millis time, bool until_it_waits = false) {
    std::size_t starts = 0;
    for (const auto end = now + time; now < end && !(until_it_waits && state(2, "a") == GroupHost::State::waiting);) {
      pass(kGroupTick);
      end_engine(2);
      run();
      starts += static_cast<std::size_t>(std::ranges::count(take_log(), "2 starts"));
    }
    return starts;
  };
  pass(kGroupTick);
  EXPECT_THAT(take_log(), testing::Contains("2 starts"));
  end_engine(2);
  run();
  EXPECT_EQ(crash_for(Millis(20'000), true), 3u);
  EXPECT_EQ(state(2, "a"), GroupHost::State::waiting);
  EXPECT_EQ(nodes[4].granter().state(), GrantManager::State::free);
  const auto& refusal = nodes[2].hosted().begin()->second.refusal();
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->engine);
  EXPECT_EQ(refusal->node, ids[2]);
  // It is tried again, once each time, less and less often.
  const auto later = crash_for(Millis(1'200'000));
  EXPECT_GT(later, 1'200'000u / 60'000 - 2);
  EXPECT_LT(later, 1'200'000u / 15'000);
  want(3, plan(3, {4}, "b"));
  (void)crash_for(Millis(120'000));
  EXPECT_EQ(state(3, "b"), GroupHost::State::standing);
  EXPECT_EQ(nodes[4].granter().grant()->host, ids[3]);
}

TEST_F(GroupsTest, AGrantThatComesTooLateIsGivenBack) {
  want(2, plan(2, {4}));
  nodes[2].tick(now);
  run();
  const PlanTerm of{1, 1};
  nodes[2].end({sha256({"m"}), false}, now);
  run();
  nodes[2].engine_drained({sha256({"m"}), false}, of, now);
  want(2, plan(2, {3}));
  nodes[2].message(ids[4], GrantResponse{{sha256({"m"}), false}, of, 99, GrantDecision::granted, 10'000}, now);
  const auto effects = nodes[2].take();
  EXPECT_TRUE(std::ranges::any_of(effects, [&](const auto& effect) {
    const auto* sent = std::get_if<SendMessage>(&effect);
    return sent && sent->to == ids[4] && std::holds_alternative<GrantRelease>(sent->message);
  }));
}

// What a group refers to would stay behind.
static_assert(!std::is_copy_constructible_v<Groups> && !std::is_move_constructible_v<Groups>);
static_assert(!std::is_copy_assignable_v<Groups> && !std::is_move_assignable_v<Groups>);

TEST_F(GroupsTest, APlanInWhichItsHostHasNoShareIsNone) {
  GroupPlan empty;
  empty.split.host = ids[2];
  EXPECT_FALSE(nodes[2].want(empty, PlanCause::ordered, now));
  EXPECT_FALSE(nodes[2].want(plan(3, {4}), PlanCause::ordered, now));
  EXPECT_TRUE(nodes[2].hosted().empty());
  // Nor does it take the place of one that is.
  want(2, plan(2, {4}));
  pass(Millis(1000));
  take_log();
  empty.model = {sha256({"m"}), false};
  EXPECT_FALSE(nodes[2].want(empty, PlanCause::ordered, now));
  pass(Millis(60'000));
  EXPECT_THAT(take_log(), IsEmpty());
}

TEST_F(GroupsTest, ALifeThatIsLearntLateCountsFromTheNextClaim) {
  nodes[2].live_anew(9);
  want(2, plan(2, {4}));
  pass(kGroupTick);
  ASSERT_TRUE(nodes[4].granter().grant());
  EXPECT_EQ(nodes[4].granter().grant()->ask.of, (PlanTerm{9, 1}));
  EXPECT_EQ(state(2), GroupHost::State::standing);
}

TEST_F(GroupsTest, AGroupOfOne) {
  want(2, plan(2, {}));
  pass(kGroupTick);
  EXPECT_THAT(take_log(), ElementsAre("2 opens for 2", "2 starts"));
}

}  // namespace
}  // namespace corral::mesh
