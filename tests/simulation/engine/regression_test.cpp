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

TEST(EngineRegression, AnEmptyLifeEndsWell) { EXPECT_EQ(live({}, 1).violation, std::nullopt); }

}  // namespace
}  // namespace corral::engine::simulation
