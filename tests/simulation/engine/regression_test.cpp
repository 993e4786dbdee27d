// Lives that once broke a rule, as the simulation found them.
#include <gtest/gtest.h>

#include "simulation/engine/world.h"

namespace corral::engine::simulation {
namespace {

using enum Op::Kind;

// Guesses of several sessions together were more than a batch holds.
TEST(EngineRegression, GuessesStayWithinTheBatch) {
  std::vector<Op> life;
  for (std::uint32_t i = 0; i < 8; ++i) {
    life.push_back({.kind = create});
    life.push_back({.kind = append, .session = i, .size = 1});
    life.push_back({.kind = generate, .session = i, .size = 40});
  }
  EXPECT_EQ(live(life, 1642).violation, std::nullopt);
}

// Two sessions in a pool that is full but for a few cells, each waiting for its reader before it needs more: guesses
// that didn't fit drove one of them out.
TEST(EngineRegression, NobodyLosesCellsForGuesses) {
  std::vector<Op> life = {{.kind = create},
                          {.kind = append, .session = 0, .size = 50, .which = 4},
                          {.kind = generate, .session = 0, .size = 60},
                          {.kind = create},
                          {.kind = append, .session = 1, .size = 69, .which = 9},
                          {.kind = generate, .session = 1, .size = 60}};
  for (int i = 0; i < 3; ++i) life.push_back({.kind = rounds, .size = 11});
  for (int i = 0; i < 2; ++i) life.push_back({.kind = end, .session = 0});
  for (const std::uint64_t variety : {27u, 44u, 245u, 422u, 500u, 567u, 1247u}) {
    const Outcome outcome = live(life, variety);
    EXPECT_EQ(outcome.violation, std::nullopt);
    EXPECT_GT(outcome.accepted, 0u) << "nothing was guessed: the test is of no use";
    EXPECT_EQ(outcome.preemptions, 0u) << variety;
  }
}

TEST(EngineRegression, AnEmptyLifeEndsWell) { EXPECT_EQ(live({}, 1).violation, std::nullopt); }

}  // namespace
}  // namespace corral::engine::simulation
