#include "engine/schedule/context_shift.h"

#include <gtest/gtest.h>

namespace corral::engine {
namespace {

constexpr FullContext kFull{.cached = 255, .n_ctx = 256, .prompt = 100};

void expect_cut(const ContextShift& wanted, std::uint32_t keep, std::uint32_t discard, FullContext full = kFull) {
  const auto cut = context_cut(wanted, full);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->keep, keep);
  EXPECT_EQ(cut->discard, discard);
}

TEST(ContextCut, TakesHalfOfWhatIsNotKept) {
  expect_cut({}, 0, 127);
  expect_cut({.keep_bos = true}, 1, 127);
  expect_cut({.keep = 55}, 55, 100);
  expect_cut({.keep = -1}, 100, 77);
}

TEST(ContextCut, TakesWhatWasAskedForAndLeavesOne) {
  expect_cut({.keep = 10, .discard = 20}, 10, 20);
  expect_cut({.discard = 9999}, 0, 254);
  expect_cut({.keep = 9999, .keep_bos = true}, 252, 1);
}

TEST(ContextCut, LeavesWhatWasNotToldYet) {
  auto full = kFull;
  full.held = 250;
  expect_cut({}, 0, 5, full);
  full.held = 255;
  EXPECT_FALSE(context_cut({}, full));
  EXPECT_FALSE(context_cut({.keep = 9}, {.cached = 1, .n_ctx = 2}));
}

}  // namespace
}  // namespace corral::engine
