// Many short lives of nodes that share models out, each from its own seed. A failing one is shrunk and told in words;
// copy its steps into a test of its own, under a name that says what went wrong.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulation/allotment/town.h"
#include "simulation/length.h"
#include "simulation/scenario.h"

namespace corral::fleet::allotment_simulation {
namespace {

using corral::simulation::from_environment;
using corral::simulation::kDefaultLength;

std::string describe(const std::vector<Op>& scenario, const TownSetting& setting, const groups::Violation& violation) {
  constexpr std::uint32_t kPauses[] = {50, 500, 3000, 60'000};
  const auto again = [&](const std::vector<Op>& steps, bool with_trace) { return live(steps, setting, with_trace); };
  return corral::simulation::describe_failure(scenario, violation, again, kPauses,
                                              fmt::format("seed {}, {} nodes", setting.seed, setting.nodes));
}

constexpr unsigned kSizes[] = {2, 3, 4, 5, 8};
// A life of many nodes takes long: one now and then.
constexpr unsigned kMany = 32;

TownSetting setting_of(std::uint64_t seed) {
  return {.nodes = seed % 50 == 0 ? kMany : kSizes[seed % std::size(kSizes)], .seed = seed};
}

std::vector<Op> scenario_of(const TownSetting& setting) {
  return random_scenario(setting.seed, setting.nodes, 20 + setting.seed % 7 * 20);
}

void add(TownOutcome& sum, const TownOutcome& outcome) {
  sum.events += outcome.events;
  sum.loads += outcome.loads;
  sum.unloads += outcome.unloads;
  sum.copies += outcome.copies;
  sum.plans += outcome.plans;
  sum.causes += outcome.causes;
  sum.starts += outcome.starts;
}

void print(std::uint64_t runs, const TownOutcome& sum) {
  fmt::print("{} lives, {} events, {} loads, {} unloads, {} copies, {} plans for {} causes, {} engines started\n", runs,
             sum.events, sum.loads, sum.unloads, sum.copies, sum.plans, sum.causes, sum.starts);
}

TEST(AllotmentSimulation, HoldsTheRules) {
  const auto events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength);
  auto seed = from_environment("CORRAL_SIMULATION_SEED", 1);
  TownOutcome sum;
  std::uint64_t runs = 0;
  for (; sum.events < events; ++seed, ++runs) {
    const auto setting = setting_of(seed);
    const auto scenario = scenario_of(setting);
    const auto outcome = live(scenario, setting);
    if (outcome.violation) {
      ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
      return;
    }
    add(sum, outcome);
  }
  print(runs, sum);
  EXPECT_GT(sum.loads, runs);
  EXPECT_GT(sum.plans, runs / 4);
  EXPECT_GT(sum.starts, runs / 4);
}

// With every kind of fault and of wish in each life; lives that take a few seconds each.
TEST(AllotmentSimulation, HoldsTheRulesWithThirtyTwoNodes) {
  const auto events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength) / 10;
  TownOutcome sum;
  std::uint64_t runs = 0;
  for (; sum.events < events; ++runs) {
    const TownSetting setting{.nodes = kMany, .seed = 3 + runs};
    const auto scenario = random_scenario(setting.seed, setting.nodes, 60, true);
    const auto outcome = live(scenario, setting);
    if (outcome.violation) {
      ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
      return;
    }
    add(sum, outcome);
  }
  print(runs, sum);
  EXPECT_GE(sum.plans, runs);
}

// All workers had loaded it, given it back as nobody asked for it, and so on for ever, as one of them was told to keep
// it.
TEST(AllotmentSimulation, WhatIsKeptByAnOrderRestsElsewhere) {
  const TownSetting setting{.nodes = 5, .seed = 23};
  const std::vector<Op> scenario = {{Op::Kind::assign, 3, 1, 6, 0}};
  const auto outcome = live(scenario, setting);
  if (outcome.violation) ADD_FAILURE() << describe(scenario, setting, *outcome.violation);
}

TEST(AllotmentSimulation, TheSameLifeGivesTheSameRun) {
  const TownSetting setting{.nodes = 4, .seed = 42};
  const auto scenario = scenario_of(setting);
  const auto first = live(scenario, setting, true), second = live(scenario, setting, true);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.events, second.events);
}

// A check that never fails checks nothing: each of these towns breaks a promise.
bool is_seen(std::string_view rule, TownSetting setting) {
  for (setting.seed = 1; setting.seed < 100; ++setting.seed) {
    setting.nodes = kSizes[setting.seed % std::size(kSizes)];
    const auto outcome = live(random_scenario(setting.seed, setting.nodes, 60), setting);
    if (outcome.violation && outcome.violation->rule == rule) return true;
  }
  return false;
}

TEST(AllotmentSimulation, SeesGroupsThatGoForWhoeverJoins) {
  EXPECT_TRUE(is_seen("a working group is left alone", {.hasty = true}));
}

TEST(AllotmentSimulation, SeesMemoryThatIsGivenTwice) {
  EXPECT_TRUE(is_seen("what is booked is there", {.crowded = true}));
}

TEST(AllotmentSimulation, SeesNodesThatComeToSomethingElse) {
  EXPECT_TRUE(is_seen("all nodes come to the same", {.deaf = true}));
}

TEST(AllotmentSimulation, SeesModelsThatNobodyServesAndNobodyExplains) {
  EXPECT_TRUE(is_seen("every model is served or explained", {.lame = true}));
}

TEST(AllotmentSimulation, SeesGroupsThatAreGivenUpThoughSomebodyUsesThem) {
  EXPECT_TRUE(is_seen("a group that is used is left alone", {.fickle = true}));
}

TEST(AllotmentSimulation, SeesHostsThatHaveNoFile) { EXPECT_TRUE(is_seen("a host has the file", {.boastful = true})); }

TEST(AllotmentSimulation, SeesModelsThatComeAndGoForEver) {
  EXPECT_TRUE(is_seen("without faults nothing changes", {.sticky = true}));
}

TEST(AllotmentSimulation, SeesPlansThatChangeByThemselves) {
  EXPECT_TRUE(is_seen("plans change for what happens", {.fidgety = true}));
}

TEST(AllotmentSimulation, SeesGroupsThatDontStand) {
  EXPECT_TRUE(is_seen("without faults every plan stands that nobody stands in the way of", {.unnoticed = true}));
}

}  // namespace
}  // namespace corral::fleet::allotment_simulation
