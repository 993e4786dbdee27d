// Lives that once broke a rule, as the simulation found them.
#include <gtest/gtest.h>

#include "simulation/engine/world.h"

namespace corral::engine::simulation {
namespace {

using enum Op::Kind;

// Guesses of several sessions together were more than a batch holds.
TEST(EngineRegression, GuessesStayWithinTheBatch) {
  std::vector<Op> scenario;
  for (std::uint32_t i = 0; i < 8; ++i) {
    scenario.push_back({.kind = create});
    scenario.push_back({.kind = append, .session = i, .size = 1});
    scenario.push_back({.kind = generate, .session = i, .size = 40});
  }
  EXPECT_EQ(live(scenario, 1642).violation, std::nullopt);
}

// Two sessions in a pool that is full but for a few cells, each waiting for its reader before it needs more: guesses
// that didn't fit drove one of them out.
TEST(EngineRegression, NobodyLosesCellsForGuesses) {
  std::vector<Op> scenario = {{.kind = create},
                              {.kind = append, .session = 0, .size = 50, .which = 4},
                              {.kind = generate, .session = 0, .size = 60},
                              {.kind = create},
                              {.kind = append, .session = 1, .size = 69, .which = 9},
                              {.kind = generate, .session = 1, .size = 60}};
  for (int i = 0; i < 3; ++i) scenario.push_back({.kind = rounds, .size = 11});
  for (int i = 0; i < 2; ++i) scenario.push_back({.kind = end, .session = 0});
  for (const std::uint64_t variety : {2762u, 17997u, 24883u, 35739u, 59520u}) {
    const Outcome outcome = live(scenario, variety);
    EXPECT_EQ(outcome.violation, std::nullopt);
    EXPECT_GT(outcome.accepted, 0u) << "nothing was guessed: the test is of no use";
    EXPECT_EQ(outcome.preemptions, 0u) << variety;
  }
}

// Eight sessions in a pass, and one of them holds what can't be computed: in its prompt or, later, in what is appended
// to it. It fails, the others say what they would have said (the world checks each token).
TEST(EngineRegression, OneFailingSessionOfAMixedPassFailsAlone) {
  std::vector<Op> scenario;
  for (std::uint32_t i = 0; i < 8; ++i) {
    scenario.push_back({.kind = create});
    scenario.push_back({.kind = i == 3 ? poison : append, .session = i, .size = 20 + i, .which = i});
    scenario.push_back({.kind = generate, .session = i, .size = 40});
  }
  scenario.push_back({.kind = rounds, .size = 11});
  scenario.push_back({.kind = poison, .session = 5, .size = 9, .which = 4});
  for (int i = 0; i < 8; ++i) scenario.push_back({.kind = rounds, .size = 11});
  for (std::uint32_t i = 0; i < 8; ++i) scenario.push_back({.kind = read, .session = i});
  for (std::uint32_t i = 0; i < 8; ++i) scenario.push_back({.kind = generate, .session = i, .size = 10});
  for (std::uint64_t variety = 1; variety <= 40; ++variety) {
    const Outcome outcome = live(scenario, variety);
    EXPECT_EQ(outcome.violation, std::nullopt) << variety;
    EXPECT_GE(outcome.failed, 2u) << variety;
    EXPECT_GT(outcome.tokens, 0u) << variety;
  }
}

// A pass that fails once, for no reason that lasts: nobody is to blame, nobody fails.
TEST(EngineRegression, APassThatFailsOnceHarmsNobody) {
  std::vector<Op> scenario;
  for (std::uint32_t i = 0; i < 6; ++i) {
    scenario.push_back({.kind = create});
    scenario.push_back({.kind = append, .session = i, .size = 20 + i, .which = i});
    scenario.push_back({.kind = generate, .session = i, .size = 30});
  }
  for (std::uint32_t i = 0; i < 12; ++i) {
    scenario.push_back({.kind = fail, .size = i});
    scenario.push_back({.kind = rounds, .size = 2});
  }
  for (std::uint64_t variety = 1; variety <= 40; ++variety) {
    const Outcome outcome = live(scenario, variety);
    EXPECT_EQ(outcome.violation, std::nullopt) << variety;
    EXPECT_EQ(outcome.failed, 0u) << variety;
  }
}

TEST(EngineRegression, AnEmptyLifeEndsWell) { EXPECT_EQ(live({}, 1).violation, std::nullopt); }

}  // namespace
}  // namespace corral::engine::simulation
