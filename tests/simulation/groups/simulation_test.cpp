// Many short lives of groups, each from its own seed. A failing one is shrunk and told in words; copy its steps into
// regression_test.cpp under a name that says what went wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "simulation/groups/world.h"
#include "simulation/length.h"
#include "simulation/shrink.h"

namespace corral::mesh::groups_simulation {
namespace {

using corral::simulation::from_environment;
using corral::simulation::kDefaultLength;

std::vector<Op> simpler(const Op& op) {
  std::vector<Op> variants;
  for (const std::uint32_t ms : {50u, 500u, 3000u}) {
    if (op.kind != Op::Kind::elapse || ms >= op.ms) continue;
    variants.push_back(op);
    variants.back().ms = ms;
  }
  return variants;
}

std::string told(const std::vector<Op>& life, const Setting& setting, const Violation& violation) {
  const auto fails = [&](const std::vector<Op>& shorter) {
    const auto outcome = live(shorter, setting);
    return outcome.violation && outcome.violation->rule == violation.rule;
  };
  const auto merged = [](const Op& a, const Op& b) {
    const bool both = a.kind == Op::Kind::elapse && b.kind == Op::Kind::elapse;
    return both ? std::optional(Op{Op::Kind::elapse, 0, 0, 0, a.ms + b.ms}) : std::nullopt;
  };
  const auto shrunk = corral::simulation::shrink(life, fails, simpler, merged);
  const auto outcome = live(shrunk, setting, true);
  std::vector<std::string> code;
  for (const auto& op : shrunk) code.push_back(as_code(op));
  return fmt::format("seed {}, {} nodes: {} ({})\n{} of {} steps are enough:\n{}\nas code:\n{}", setting.seed,
                     setting.nodes, violation.rule, violation.detail, shrunk.size(), life.size(),
                     fmt::join(outcome.trace, "\n"), fmt::join(code, "\n"));
}

constexpr unsigned kSizes[] = {2, 3, 4, 5, 8};

TEST(GroupsSimulation, HoldsTheRules) {
  const auto events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength);
  auto seed = from_environment("CORRAL_SIMULATION_SEED", 1);
  Outcome sum;
  std::uint64_t lives = 0;
  for (; sum.events < events; ++seed, ++lives) {
    const Setting setting{.nodes = kSizes[seed % std::size(kSizes)], .seed = seed};
    const auto life = random_life(seed, setting.nodes, 20 + seed % 7 * 30);
    const auto outcome = live(life, setting);
    if (outcome.violation) {
      ADD_FAILURE() << told(life, setting, *outcome.violation);
      return;
    }
    sum.events += outcome.events;
    sum.starts += outcome.starts;
    sum.grants += outcome.grants;
    sum.refusals += outcome.refusals;
  }
  fmt::print("{} lives, {} events, {} engines started, {} grants, {} refusals\n", lives, sum.events, sum.starts,
             sum.grants, sum.refusals);
  EXPECT_GT(sum.starts, lives);
  EXPECT_GT(sum.grants, 2 * sum.starts / 3);
  EXPECT_GT(sum.refusals, sum.events / 10'000);
}

TEST(GroupsSimulation, TheSameLifeGivesTheSameRun) {
  const auto life = random_life(42, 4, 150);
  const Setting setting{.nodes = 4, .seed = 42};
  const auto first = live(life, setting, true), second = live(life, setting, true);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.events, second.events);
}

// The link to the last node of a plan went down before that one was asked: the others were held for as long.
TEST(GroupsSimulation, AClaimEndsWithALinkOfItsPlan) {
  const Setting setting{.nodes = 3, .seed = 5031};
  const auto life = random_life(setting.seed, setting.nodes, 170);
  const auto outcome = live(life, setting);
  if (outcome.violation) ADD_FAILURE() << told(life, setting, *outcome.violation);
}

// A check that never fails checks nothing: each of these worlds breaks a promise that the core relies on.
std::set<std::string> rules_broken(Setting setting) {
  std::set<std::string> rules;
  for (setting.seed = 1; setting.seed < 150; ++setting.seed) {
    setting.nodes = kSizes[setting.seed % std::size(kSizes)];
    const auto outcome = live(random_life(setting.seed, setting.nodes, 120), setting);
    if (outcome.violation) rules.insert(outcome.violation->rule);
  }
  return rules;
}

TEST(GroupsSimulation, SeesHostsThatStopTooLate) {
  Setting setting;
  setting.rules.stop_before = Millis(-3000);
  EXPECT_TRUE(rules_broken(setting).contains("a host never works past its lease"));
}

TEST(GroupsSimulation, SeesEnginesThatTakeTooLongToEnd) {
  EXPECT_TRUE(rules_broken({.slow_to_stop = true}).contains("a host never works past its lease"));
}

TEST(GroupsSimulation, SeesNodesThatForgetWhoHadThem) {
  EXPECT_TRUE(rules_broken({.forgetful = true}).contains("a node grants nothing that somebody still believes to have"));
}

TEST(GroupsSimulation, SeesNodesThatGrantBeforeTheyReaped) {
  EXPECT_TRUE(rules_broken({.reaps_at_once = true}).contains("nobody grants before the last worker is gone"));
}

TEST(GroupsSimulation, SeesClaimsThatHoldNodesForTooLong) {
  EXPECT_TRUE(rules_broken({.answer_of_hosts = Millis(3'600'000)})
                  .contains("nobody claims longer than its nodes may take to answer"));
}

TEST(GroupsSimulation, SeesPlansThatChangeForABlip) {
  Setting setting;
  setting.rules.patience = Millis(5000);
  setting.patience_of_hosts = Millis(1000);
  EXPECT_TRUE(rules_broken(setting).contains("a blip changes no plan"));
}

}  // namespace
}  // namespace corral::mesh::groups_simulation
