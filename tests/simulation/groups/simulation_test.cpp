// Many short lives of groups, each from its own seed. A failing one is shrunk and told in words; copy its steps into
// regression_test.cpp under a name that says what went wrong.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulation/groups/world.h"
#include "simulation/length.h"
#include "simulation/scenario.h"

namespace corral::mesh::groups_simulation {
namespace {

using corral::simulation::from_environment;
using corral::simulation::kDefaultLength;

std::string describe(const std::vector<Op>& scenario, const Setting& setting, const Violation& violation) {
  constexpr std::uint32_t kPauses[] = {50, 500, 3000};
  const auto again = [&](const std::vector<Op>& steps, bool with_trace) { return live(steps, setting, with_trace); };
  return corral::simulation::describe_failure(scenario, violation, again, kPauses,
                                              fmt::format("seed {}, {} nodes", setting.seed, setting.nodes));
}

constexpr unsigned kSizes[] = {2, 3, 4, 5, 8};

TEST(GroupsSimulation, HoldsTheRules) {
  const auto events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength);
  auto seed = from_environment("CORRAL_SIMULATION_SEED", 1);
  Outcome sum;
  std::uint64_t runs = 0;
  for (; sum.events < events; ++seed, ++runs) {
    const Setting setting{.nodes = kSizes[seed % std::size(kSizes)], .seed = seed};
    const auto scenario = random_scenario(seed, setting.nodes, 20 + seed % 7 * 30);
    const auto outcome = live(scenario, setting);
    if (outcome.violation) {
      ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
      return;
    }
    sum.events += outcome.events;
    sum.starts += outcome.starts;
    sum.grants += outcome.grants;
    sum.refusals += outcome.refusals;
  }
  fmt::print("{} lives, {} events, {} engines started, {} grants, {} refusals\n", runs, sum.events, sum.starts,
             sum.grants, sum.refusals);
  EXPECT_GT(sum.starts, runs);
  EXPECT_GT(sum.grants, 2 * sum.starts / 3);
  EXPECT_GT(sum.refusals, sum.events / 10'000);
}

// With every kind of fault in each life.
TEST(GroupsSimulation, HoldsTheRulesWithThirtyTwoNodes) {
  const auto events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength) / 4;
  std::uint64_t sum = 0, starts = 0, runs = 0;
  for (; sum < events; ++runs) {
    const Setting setting{.nodes = 32, .seed = 1 + runs};
    const auto scenario = random_scenario(setting.seed, setting.nodes, 200, true);
    const auto outcome = live(scenario, setting);
    if (outcome.violation) {
      ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
      return;
    }
    sum += outcome.events;
    starts += outcome.starts;
  }
  fmt::print("{} lives, {} events, {} engines started\n", runs, sum, starts);
  EXPECT_GT(starts, runs);
}

TEST(GroupsSimulation, TheSameLifeGivesTheSameRun) {
  const auto scenario = random_scenario(42, 4, 150);
  const Setting setting{.nodes = 4, .seed = 42};
  const auto first = live(scenario, setting, true), second = live(scenario, setting, true);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.events, second.events);
}

// The link to the last node of a plan went down before that one was asked: the others were held for as long.
TEST(GroupsSimulation, AClaimEndsWithALinkOfItsPlan) {
  const Setting setting{.nodes = 3, .seed = 5031};
  const auto scenario = random_scenario(setting.seed, setting.nodes, 170);
  const auto outcome = live(scenario, setting);
  if (outcome.violation) ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
}

// A check that never fails checks nothing: each of these worlds breaks a promise that the core relies on.
bool is_seen(std::string_view rule, Setting setting) {
  for (setting.seed = 1; setting.seed < 150; ++setting.seed) {
    setting.nodes = kSizes[setting.seed % std::size(kSizes)];
    const auto outcome = live(random_scenario(setting.seed, setting.nodes, 120), setting);
    if (outcome.violation && outcome.violation->rule == rule) return true;
  }
  return false;
}

TEST(GroupsSimulation, SeesHostsThatStopTooLate) {
  Setting setting;
  setting.rules.stop_before = Millis(-3000);
  EXPECT_TRUE(is_seen("a host never works past its lease", setting));
}

TEST(GroupsSimulation, SeesEnginesThatTakeTooLongToEnd) {
  EXPECT_TRUE(is_seen("a host never works past its lease", {.slow_to_stop = true}));
}

// One that starts again while its host, which is cut off, doesn't know.
TEST(GroupsSimulation, SeesNodesThatForgetWhoHadThem) {
  using Kind = Op::Kind;
  const std::vector<Op> scenario = {
      {Kind::want, 0, 1, 0, 0},  {Kind::elapse, 0, 0, 0, 2000}, {Kind::cut, 0, 1, 0, 0},      {Kind::kill, 1, 0, 0, 0},
      {Kind::start, 1, 0, 0, 0}, {Kind::want, 2, 1, 1, 0},      {Kind::elapse, 0, 0, 0, 4000}};
  Setting setting{.nodes = 3, .seed = 3};
  EXPECT_FALSE(live(scenario, setting).violation);
  setting.forgetful = true;
  const auto outcome = live(scenario, setting);
  ASSERT_TRUE(outcome.violation);
  EXPECT_EQ(outcome.violation->rule, "a node grants nothing that somebody still believes to have");
}

TEST(GroupsSimulation, SeesNodesThatGrantBeforeTheyReaped) {
  EXPECT_TRUE(is_seen("nobody grants before the last worker is gone", {.reaps_at_once = true}));
}

TEST(GroupsSimulation, SeesClaimsThatHoldNodesForTooLong) {
  EXPECT_TRUE(
      is_seen("nobody claims longer than its nodes may take to answer", {.answer_of_hosts = Millis(3'600'000)}));
}

TEST(GroupsSimulation, SeesPlansThatChangeForABlip) {
  Setting setting;
  setting.rules.patience = Millis(5000);
  setting.patience_of_hosts = Millis(1000);
  EXPECT_TRUE(is_seen("a blip changes no plan", setting));
}

}  // namespace
}  // namespace corral::mesh::groups_simulation
