#include "engine/schedule/layout.h"

#include <vector>

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

LayoutFacts facts(std::uint32_t cells = 8192, std::uint32_t max_streams = 16) {
  return {.now = {},
          .cells = cells,
          .max_streams = max_streams,
          .foreign_cell_ms = 4e-4,
          .move_cell_ms = 0.01,
          .make_ms = 50};
}
std::vector<LayoutView> alike(std::size_t count, LayoutView view) { return std::vector(count, view); }

TEST(Layout, OneSessionHasThePoolForItself) {
  EXPECT_TRUE(choose_layout(alike(1, {.tokens = 4000, .remaining = 1000}), facts()).unified());
}

TEST(Layout, ManyUnrelatedStreamsGetAPartEach) {
  const KvShape shape = choose_layout(alike(16, {.tokens = 128, .cached = 127, .remaining = 128}), facts());
  EXPECT_EQ(shape.streams, 16u);
  EXPECT_TRUE(choose_layout(alike(16, {.tokens = 128, .remaining = 128}), facts()).unified()) << "prompts come first";
}

TEST(Layout, NoSessionGetsAPartItDoesNotFitInto) {
  auto sessions = alike(7, {.tokens = 128, .remaining = 128});
  sessions.push_back({.tokens = 5000, .remaining = 100});
  EXPECT_TRUE(choose_layout(sessions, facts()).unified());
}

TEST(Layout, PartsAreWholeMultiples) {
  LayoutFacts some = facts(4096);
  some.multiple = 256;
  const std::vector<LayoutView> sessions = alike(8, {.tokens = 300, .cached = 299, .remaining = 100});
  EXPECT_EQ(choose_layout(sessions, some).streams, 8u)
      << "nine parts would be of 256 cells, ten of 455 without rounding";
  EXPECT_TRUE(choose_layout(alike(12, {.tokens = 200, .cached = 199, .remaining = 100}), some).unified());
}

TEST(Layout, ALongPromptBesideRunningStreamsIsFusedWithThem) {
  LayoutFacts now = facts(65536);
  now.now = {.streams = 8};
  now.made = true;
  auto sessions = alike(7, {.tokens = 300, .cached = 299, .remaining = 500});
  EXPECT_EQ(choose_layout(sessions, now).streams, 8u);
  sessions.push_back({.tokens = 2000, .cached = 0, .remaining = 100});
  now.chunk = 16;
  EXPECT_TRUE(choose_layout(sessions, now).unified());
}

TEST(Layout, InAFullPoolAPassOfItsOwnIsCheaperThanTheCellsOfOthers) {
  LayoutFacts now = facts(32768);
  now.now = {.streams = 16};
  now.made = true;
  auto sessions = alike(15, {.tokens = 1500, .cached = 1499, .remaining = 128});
  sessions.push_back({.tokens = 1500, .cached = 0, .remaining = 128});
  EXPECT_EQ(choose_layout(sessions, now).streams, 16u);
  now.now = {};
  EXPECT_EQ(choose_layout(sessions, now).streams, 16u);
}

TEST(Layout, ACrowdTakesAFewPlacesLessThanThereMightBe) {
  LayoutFacts now = facts(16384);
  auto sessions = alike(15, {.tokens = 900, .cached = 899, .remaining = 120});
  for (int waiting = 0; waiting < 40; ++waiting) sessions.push_back({.tokens = 940, .remaining = 128});
  EXPECT_EQ(choose_layout(sessions, now).streams, 15u) << "sixteen parts of 1,024 cells are too small";
  now.now = {.streams = 15};
  sessions.resize(17);
  EXPECT_EQ(choose_layout(sessions, now).streams, 15u) << "somebody waits in any case";
  now.now = {};
  sessions.resize(16);
  EXPECT_TRUE(choose_layout(sessions, now).unified()) << "one of them would have to wait for the others";
}

TEST(Layout, AShortRestOfWorkIsNotWorthAChange) {
  LayoutFacts now = facts();
  now.made = true;
  EXPECT_TRUE(choose_layout(alike(8, {.tokens = 300, .cached = 299, .remaining = 4}), now).unified());
  EXPECT_FALSE(choose_layout(alike(8, {.tokens = 300, .cached = 299, .remaining = 500}), now).unified());
}

TEST(Layout, WhereForeignCellsCostNothingThereIsOnePool) {
  LayoutFacts now = facts();
  now.foreign_cell_ms = 0;
  now.now = {.streams = 4};
  EXPECT_TRUE(choose_layout(alike(16, {.tokens = 128, .remaining = 128}), now).unified());
}

TEST(Layout, MoreSessionsThanPartsGetMoreParts) {
  LayoutFacts now = facts();
  now.now = {.streams = 4};
  now.made = true;
  EXPECT_GE(choose_layout(alike(8, {.tokens = 300, .cached = 299, .remaining = 200}), now).streams, 8u);
}

TEST(Layout, AnOutgrownPartIsGivenUp) {
  LayoutFacts now = facts();
  now.now = {.streams = 16};
  now.made = true;
  EXPECT_TRUE(choose_layout(alike(2, {.tokens = 512, .cached = 511, .remaining = 100000}), now).unified());
}

// What was chosen is kept: no changing back and forth with the same sessions.
TEST(Layout, AChoiceIsStable) {
  for (std::uint32_t count = 1; count <= 24; ++count) {
    for (const std::uint32_t tokens : {10u, 100u, 300u, 500u, 1000u, 3000u}) {
      for (const std::uint32_t remaining : {1u, 50u, 1000u}) {
        LayoutFacts now = facts();
        now.made = true;
        const auto sessions = alike(count, {.tokens = tokens, .cached = tokens - 1, .remaining = remaining});
        now.now = choose_layout(sessions, now);
        EXPECT_EQ(choose_layout(sessions, now), now.now) << count << " sessions of " << tokens;
      }
    }
  }
}

TEST(Layout, AChangeThatTheNextPromptUndoesIsNotMade) {
  const auto sessions = alike(16, {.tokens = 128, .cached = 127, .remaining = 128});
  LayoutFacts busy = facts();
  busy.made = true;
  busy.foresight = 10;
  EXPECT_TRUE(choose_layout(sessions, busy).unified());
  busy.foresight = 200;
  EXPECT_EQ(choose_layout(sessions, busy).streams, 16u);
}

TEST(QuietTimes, LastAsLongAsUsualOrAsTheyHaveLasted) {
  auto prompt = alike(8, {.tokens = 100, .cached = 99});
  prompt.push_back({.tokens = 1000});
  LayoutFacts some = facts();
  some.chunk = 16;
  const auto stream = alike(8, {.tokens = 100, .cached = 99});
  QuietTimes quiet;
  EXPECT_GT(quiet.foresight(), 1000u) << "nothing is known: nothing speaks against a change";
  for (int i = 0; i < 8; ++i) {
    for (int pass = 0; pass < 10; ++pass) quiet.observe(stream, some);
    for (int pass = 0; pass < 3; ++pass) quiet.observe(prompt, some);
  }
  EXPECT_LT(quiet.foresight(), 15u);
  for (int pass = 0; pass < 300; ++pass) quiet.observe(stream, some);
  EXPECT_EQ(quiet.foresight(), 300u);
}

}  // namespace
}  // namespace corral::engine
