// Many short lives, each from its own seed. A failing one is shrunk and told in words; copy its steps into
// regression_test.cpp under a name that says what went wrong.
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "simulation/length.h"
#include "simulation/residency/world.h"
#include "simulation/shrink.h"

namespace corral::residency::simulation {
namespace {

using corral::simulation::from_environment;
using corral::simulation::kDefaultLength;

std::vector<Op> simpler(const Op& op) {
  std::vector<Op> variants;
  for (std::uint32_t ms : {0U, 1U, 10U, 100U, 1000U, op.ms / 2}) {
    const bool may_be_zero = op.kind == Op::Kind::settings || op.kind == Op::Kind::foreign;
    if (ms >= op.ms || (ms == 0 && !may_be_zero)) continue;
    Op variant = op;
    variant.ms = ms;
    variants.push_back(variant);
  }
  if (op.nth > 1 && op.kind != Op::Kind::traits) {
    Op variant = op;
    variant.nth = op.nth % 2;
    variants.push_back(variant);
  }
  return variants;
}

std::optional<Op> merged(const Op& a, const Op& b) {
  if (a.kind != Op::Kind::elapse || b.kind != Op::Kind::elapse) return std::nullopt;
  return Op{.kind = Op::Kind::elapse, .ms = a.ms + b.ms};
}

std::string as_code(const Op& op) {
  constexpr const char* kKinds[] = {"acquire",  "load",     "unload",   "unload_all", "pin",    "cancel",  "crash",
                                    "fate",     "settings", "elapse",   "wall_clock", "traits", "foreign", "sampler",
                                    "lateness", "disk",     "simulate", "peer",       "lend",   "share",   "end"};
  return fmt::format("{{.kind = {}, .animal = {}, .nth = {}, .choice = {}, .options = {}, .ms = {}}},",
                     kKinds[static_cast<int>(op.kind)], op.animal, op.nth, op.choice, op.options, op.ms);
}

void report(std::uint64_t seed, const std::vector<Op>& scenario, const Violation& violation) {
  const auto fails = [&](const std::vector<Op>& shorter) {
    const Outcome outcome = live(shorter);
    return outcome.violation && outcome.violation->rule == violation.rule;
  };
  const std::vector<Op> shrunk = corral::simulation::shrink(scenario, fails, simpler, merged);
  const Outcome outcome = live(shrunk, true);
  std::vector<std::string> code;
  for (const Op& op : shrunk) code.push_back(as_code(op));
  ADD_FAILURE() << fmt::format(
      "seed {} breaks the rule: {} ({})\n{} of {} steps are enough:\n{}\n=> {}: {}\nas code:\n{}", seed, violation.rule,
      violation.detail, shrunk.size(), scenario.size(), fmt::join(outcome.trace, "\n"), outcome.violation->rule,
      outcome.violation->detail, fmt::join(code, "\n"));
}

void hold_the_rules(bool peers) {
  const std::uint64_t events = from_environment("CORRAL_SIMULATION_EVENTS", kDefaultLength);
  std::uint64_t seed = from_environment("CORRAL_SIMULATION_SEED", 1);
  std::uint64_t runs = 0;
  for (std::uint64_t done = 0; done < events; ++seed, ++runs) {
    const std::vector<Op> scenario = random_scenario(seed, 20 + seed % 7 * 60, peers);
    const Outcome outcome = live(scenario);
    done += outcome.events;
    if (outcome.violation) return report(seed, scenario, *outcome.violation);
  }
  testing::Test::RecordProperty("lives", static_cast<int>(runs));
}

TEST(ResidencySimulation, HoldsTheRulesInRandomLives) { hold_the_rules(false); }

// What other machines of a mesh want goes on beside it.
TEST(ResidencySimulation, HoldsTheRulesBesideRequestsOfPeers) { hold_the_rules(true); }

// Whatever may be lent: where nobody asks for it, nothing is different.
TEST(ResidencySimulation, WithoutPeersLendingChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::vector<Op> scenario = random_scenario(seed, 20 + seed % 7 * 60);
    const Outcome without = live(scenario, true);
    std::vector<Op> lends = scenario;
    lends.insert(lends.begin(),
                 {.kind = Op::Kind::lend, .nth = 1, .choice = static_cast<std::uint8_t>(seed % 3), .ms = 64});
    Outcome with = live(lends, true);
    ASSERT_FALSE(with.trace.empty());
    with.trace.erase(with.trace.begin());
    ASSERT_EQ(without.trace, with.trace) << "seed " << seed;
  }
}

TEST(ResidencySimulation, TheSameLifeGivesTheSameRun) {
  const std::vector<Op> scenario = random_scenario(42, 300);
  EXPECT_EQ(live(scenario, true).trace, live(scenario, true).trace);
}

TEST(Shrink, FindsTheFewElementsThatMatter) {
  std::vector<int> list(1000);
  std::iota(list.begin(), list.end(), 0);
  const auto fails = [](const std::vector<int>& l) {
    return std::ranges::find(l, 17) != l.end() && std::ranges::find(l, 803) != l.end();
  };
  EXPECT_EQ(corral::simulation::shrink(
                list, fails, [](int) { return std::vector<int>{}; }, [](int, int) { return std::optional<int>(); }),
            (std::vector<int>{17, 803}));
}

}  // namespace
}  // namespace corral::residency::simulation
