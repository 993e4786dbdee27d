// Who gets cells, and who loses them: sessions in a pool that is too small for all of them.
#include "simulation/engine/held_core.h"

namespace corral::engine::simulation {
namespace {

class CellsInCore : public HeldCore {
 protected:
  void fit(WorkerCore::Parts& parts) override {
    parts.growth = [this](const KvMemory& now, std::uint32_t) {
      ++asked_;
      return now.n_ctx();
    };
  }
  std::uint32_t asked_ = 0;  // whether the pool may grow
};

// It used to be readmitted whenever anybody ended, and to lose its place again some tokens later.
TEST_F(CellsInCore, NobodyComesBackToLoseItsPlaceAtOnce) {
  memory_.cells = 256;
  start();
  chat(some(100, 1), 100);
  for (std::uint32_t i = 0; i < 3; ++i) chat(some(5, 10 + i), 15 + 5 * i);
  Chat& newest = chat(some(90, 2), 60);
  rounds(300);
  EXPECT_TRUE(is_through(newest));
  EXPECT_LE(core_->stats().preemptions, 1u);
}

// What one gives up is for all that run, not only for the one whose pass didn't fit.
TEST_F(CellsInCore, WhatOneGivesUpIsSharedOut) {
  memory_.cells = 256;
  start();
  for (std::uint32_t i = 0; i < 5; ++i) chat(some(20, i + 1), 60);
  rounds(300);
  EXPECT_LE(core_->stats().preemptions, 2u) << "5 of 80 tokens in 256 cells";
}

// Eight that share all but a little: each cell counts once, so all of them run at a time.
TEST_F(CellsInCore, SharedCellsCountOnce) {
  memory_.cells = 512;
  start();
  const std::vector<Token> beginning = some(300, 5);
  Chat& first = chat(beginning, 1);
  rounds(20);
  ASSERT_TRUE(is_through(first));
  for (std::uint32_t i = 0; i < 6; ++i) {
    std::vector<Token> prompt = beginning;
    for (const Token token : some(5, 20 + i)) prompt.push_back(token);
    chat(prompt, 15);
  }
  rounds(4);
  EXPECT_EQ(core_->stats().waiting, 0u);
  rounds(40);
  EXPECT_EQ(core_->stats().preemptions, 0u);
  EXPECT_EQ(core_->stats().prompt_tokens, 300u + 6 * 5);
}

// Nobody behind goes before who stands first, however little it needs.
TEST_F(CellsInCore, WhatBecomesFreeIsForWhoStandsFirst) {
  memory_.cells = 256;
  start();
  Chat& runs = chat(some(100, 1), 60);
  rounds(10);
  Chat& large = chat(some(140, 2), 5);
  rounds(1);
  Chat& little = chat(some(5, 3), 5);
  rounds(10);
  EXPECT_EQ(core_->stats().waiting, 2u);
  EXPECT_FALSE(is_through(little));
  rounds(100);
  EXPECT_TRUE(is_through(runs) && is_through(large) && is_through(little));
  EXPECT_EQ(core_->stats().preemptions, 0u);
}

// It was asked at each pass in which somebody waited: a look at all memory there is.
TEST_F(CellsInCore, ThatThereIsNoMoreMemoryCountsForAWhile) {
  memory_.cells = 256;
  start({.max_cells = 1024});
  for (std::uint32_t i = 0; i < 4; ++i) chat(some(80, i + 1), 60);
  const MonoTime begin = now_;
  rounds(40);
  EXPECT_GT(core_->stats().waiting, 0u) << "or the test is of no use";
  const double seconds = seconds_between(begin, now_);
  EXPECT_GE(asked_, 1u);
  EXPECT_LE(asked_, 2 + 2 * static_cast<std::uint32_t>(seconds));
}

}  // namespace
}  // namespace corral::engine::simulation
