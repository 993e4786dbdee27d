#include "engine/schedule/adapter_turns.h"

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

const AdapterScales kNone, kHalf{0.5F}, kOne{1};

struct Turns {
  AdapterTurns turns;
  // As many as it has in a row.
  AdapterScales pass(std::vector<const AdapterScales*> wanted) {
    const AdapterScales one = turns.next(wanted);
    for (std::uint32_t i = 0; i < AdapterTurns::kInARow; ++i) {
      EXPECT_EQ(turns.next(wanted), one) << i;
      turns.took(one, wanted);
    }
    return one;
  }
};

TEST(AdapterTurns, GoRoundAmongThoseThatWant) {
  Turns t;
  const std::vector<const AdapterScales*> all{&kNone, &kHalf, &kNone, &kOne};
  EXPECT_EQ(t.pass(all), kNone);
  EXPECT_EQ(t.pass(all), kHalf);
  EXPECT_EQ(t.pass(all), kOne);
  EXPECT_EQ(t.pass(all), kNone);
  EXPECT_EQ(t.pass({&kOne, &kNone}), kOne) << "one has nothing to compute";
  EXPECT_EQ(t.pass({&kOne, &kNone, &kHalf}), kNone) << "who comes back waited less";
  EXPECT_EQ(t.pass({&kOne, &kNone, &kHalf}), kOne);
  EXPECT_EQ(t.pass({&kOne, &kNone, &kHalf}), kHalf);
}

TEST(AdapterTurns, NewOnesNeverKeepAnotherWaiting) {
  Turns t;
  t.pass({&kNone, &kOne});
  for (int i = 0; i < 3; ++i) {
    const AdapterScales fresh{static_cast<float>(i) + 2};
    EXPECT_EQ(t.pass({&fresh, &kNone, &kOne}), i % 2 == 0 ? kOne : kNone) << i;
  }
}

TEST(AdapterTurns, WhoHasNothingToComputeLeavesTheRestOfItsTurn) {
  Turns t;
  const std::vector<const AdapterScales*> both{&kNone, &kOne};
  t.turns.took(t.turns.next(both), both);
  EXPECT_EQ(t.turns.next(both), kNone);
  const std::vector<const AdapterScales*> other{&kOne};
  EXPECT_EQ(t.turns.next(other), kOne);
}

TEST(AdapterTurns, OneAloneHasEveryPass) {
  Turns t;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(t.pass({&kHalf, &kHalf}), kHalf);
  EXPECT_EQ(t.pass({&kHalf, &kOne}), kHalf);
  EXPECT_EQ(t.pass({&kHalf, &kOne}), kOne);
}

}  // namespace
}  // namespace corral::engine
