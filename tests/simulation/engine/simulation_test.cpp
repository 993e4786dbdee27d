// Many short lives, each from its own seed. A failing one is shrunk and told in words; copy its steps into
// regression_test.cpp under a name that says what went wrong.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "engine/kv/cell_ledger.h"
#include "engine/test_failing_new.h"
#include "simulation/engine/world.h"
#include "simulation/length.h"
#include "simulation/shrink.h"

namespace corral::engine::simulation {
namespace {

using corral::simulation::from_environment;
using corral::simulation::kDefaultLength;

std::vector<Op> simpler(const Op& op) {
  std::vector<Op> variants;
  for (const std::uint32_t size : {0u, 1u, 10u, op.size / 2}) {
    if (size >= op.size) continue;
    variants.push_back(op);
    variants.back().size = size;
  }
  if (op.which > 0) {
    variants.push_back(op);
    variants.back().which = 0;
  }
  return variants;
}

void report(std::uint64_t seed, const std::vector<Op>& scenario, const std::string& violation) {
  const auto fails = [&](const std::vector<Op>& shorter) { return live(shorter, seed).violation.has_value(); };
  const auto merged = [](const Op&, const Op&) { return std::optional<Op>(); };
  const std::vector<Op> shrunk = corral::simulation::shrink(scenario, fails, simpler, merged);
  const Outcome outcome = live(shrunk, seed, true);
  std::vector<std::string> code;
  for (const Op& op : shrunk) code.push_back(as_code(op));
  ADD_FAILURE() << fmt::format("seed {}: {}\n{} of {} steps are enough:\n{}\n=> {}\nas code, in the world {}:\n{}",
                               seed, violation, shrunk.size(), scenario.size(), fmt::join(outcome.trace, "\n"),
                               *outcome.violation, seed, fmt::join(code, "\n"));
}

TEST(EngineSimulation, HoldsTheRulesInRandomLives) {
  log::set_level(log::Level::none);  // what is thrown on purpose
  const std::uint64_t steps = from_environment("CORRAL_SIMULATION_STEPS", kDefaultLength);
  std::uint64_t seed = from_environment("CORRAL_SIMULATION_SEED", 1);
  Outcome sum;
  while (sum.passes < steps) {
    const std::vector<Op> scenario = random_scenario(seed, 30 + seed % 7 * 60);
    const Outcome outcome = live(scenario, seed);
    if (outcome.violation) return report(seed, scenario, *outcome.violation);
    ++seed;
    sum.passes += outcome.passes;
    sum.tokens += outcome.tokens;
    sum.preemptions += outcome.preemptions;
    sum.parked += outcome.parked;
    sum.restored += outcome.restored;
    sum.shared += outcome.shared;
    sum.layout_changes += outcome.layout_changes;
    sum.growths += outcome.growths;
    sum.accepted += outcome.accepted;
    sum.in_lane += outcome.in_lane;
    sum.in_parts += outcome.in_parts;
    sum.crossed += outcome.crossed;
    sum.failed += outcome.failed;
    sum.padding += outcome.padding;
    sum.superseded += outcome.superseded;
    sum.unforeseen += outcome.unforeseen;
    sum.fresh_starts += outcome.fresh_starts;
    sum.read_back += outcome.read_back;
  }
  // The lives must be eventful, or the rules weren't tried.
  for (const std::uint64_t count :
       {sum.tokens, sum.parked, sum.restored, sum.shared, sum.layout_changes, sum.accepted, sum.in_lane, sum.in_parts,
        sum.failed, sum.padding, sum.superseded, sum.unforeseen, sum.fresh_starts, sum.growths})
    EXPECT_GT(count, steps / 10'000);
  EXPECT_GT(sum.read_back, steps / 25'000);  // too few in a short run to be told from chance more sharply
  // They have become rare: somebody says some tokens before anybody loses his place.
  EXPECT_GT(sum.preemptions, steps / 100'000);
  EXPECT_GT(sum.crossed, steps / 50'000);
  EXPECT_LT(sum.preemptions * kPromisedTokens, sum.tokens / 10);
  fmt::print(
      "{} lives, {} passes, {} tokens, {} preemptions, {} parked, {} restored, {} shared, {} changes of layout, {} "
      "guesses right, {} prompts in the lane, {} tokens in parts, {} parked by one worker and put back by another, {} "
      "failed, {} rows to fill up passes, {} superseded, {} ended by what nobody foresaw in {} fresh starts of "
      "workers, {} "
      "read from files, {} pools grown\n",
      seed, sum.passes, sum.tokens, sum.preemptions, sum.parked, sum.restored, sum.shared, sum.layout_changes,
      sum.accepted, sum.in_lane, sum.in_parts, sum.crossed, sum.failed, sum.padding, sum.superseded, sum.unforeseen,
      sum.fresh_starts, sum.read_back, sum.growths);
}

}  // namespace
}  // namespace corral::engine::simulation
