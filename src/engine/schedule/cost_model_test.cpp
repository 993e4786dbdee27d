#include "engine/schedule/cost_model.h"

#include <gtest/gtest.h>

#include "engine/schedule/cpu_costs.h"
#include "engine/schedule/draft_length.h"
#include "engine/schedule/flat_costs.h"

namespace corral::engine {
namespace {

TEST(AllOnGpus, OnlyWithEveryLayerAndTheOutput) {
  EXPECT_FALSE(all_on_gpus({.gpus = 0, .gpu_layers = -1, .layers = 24})) << "there is none";
  EXPECT_TRUE(all_on_gpus({.gpus = 1, .gpu_layers = -1, .layers = 24}));
  EXPECT_TRUE(all_on_gpus({.gpus = 2, .gpu_layers = 99, .layers = 24}));
  EXPECT_TRUE(all_on_gpus({.gpus = 1, .gpu_layers = 25, .layers = 24}));
  EXPECT_FALSE(all_on_gpus({.gpus = 1, .gpu_layers = 24, .layers = 24})) << "the output is computed elsewhere";
  EXPECT_FALSE(all_on_gpus({.gpus = 1, .gpu_layers = 0, .layers = 24}));
}

PassTime streams(std::uint32_t rows, double ms) { return {.rows = rows, .decoding = rows, .ms = ms}; }
PassTime with_prompt(std::uint32_t decoding, std::uint32_t prefill, double ms) {
  return {.rows = decoding + prefill, .decoding = decoding, .prefill = prefill, .ms = ms};
}

// ---- one cost model for GPUs

TEST(FlatCosts, AllStreamsGoInOnePoolAndNothingIsFilledUp) {
  FlatCosts costs;
  for (const std::uint32_t running : {1u, 7u, 200u}) {
    EXPECT_EQ(costs.turn(running, 7).sessions, running);
    EXPECT_FALSE(costs.turn(running, 7).trial);
    EXPECT_EQ(costs.filled_rows(running, 7), running);
  }
  EXPECT_EQ(costs.max_padding(), 0u);
  EXPECT_FALSE(costs.may_split());
  EXPECT_TRUE(costs.layout({}, {.now = {.streams = 4}}).unified());
}

TEST(FlatCosts, RowsAreCheapSoGuessesPay) {
  const FlatCosts costs;
  EXPECT_LT(costs.rows().of(8), 1.5 * costs.rows().of(1));
  EXPECT_EQ(costs.rows().of(PassCosts::kMaxRows), costs.rows().of(100'000));
  const DraftBudget budget{.max = 8, .rows = 1, .costs = costs.rows()};
  EXPECT_EQ(draft_length(budget, 0, [](std::uint32_t) { return 0.9; }), 8u);
}

TEST(FlatCosts, OnePassShowsWhatAnyNumberOfStreamsTake) {
  FlatCosts costs;
  const PromptsView view{.decoding = 8, .prompts = 1, .limit = 512};
  EXPECT_EQ(costs.prompt_allowance(view), 0u) << "first what they take alone";
  EXPECT_GT(costs.prompt_allowance({.decoding = 8, .prompts = 9, .limit = 512}), 0u) << "unless more wait than run";
  EXPECT_GT(costs.prompt_allowance({.decoding = 0, .prompts = 1, .limit = 512}), 0u);
  costs.observe(streams(3, 10));
  EXPECT_GT(costs.prompt_allowance(view), 0u);
  EXPECT_GT(costs.prompt_allowance({.decoding = 100, .prompts = 1, .limit = 512}), 0u);
}

// Sixteen long streams took what one short one had taken, and their time was put down to the prompts.
TEST(FlatCosts, WhatStreamsTakeAloneIsAskedAgainWhilePromptsKeepComing) {
  FlatCosts costs;
  const PromptsView view{.decoding = 16, .prompts = 1, .limit = 4096};
  costs.observe(streams(1, 7));
  costs.observe(streams(1, 7));
  int passes = 0;
  std::uint32_t tokens = 1;
  while (tokens > 0 && ++passes < 500) {
    tokens = costs.prompt_allowance(view);
    if (tokens > 0) costs.observe(with_prompt(16, tokens, 25 + tokens * 0.02));
  }
  EXPECT_EQ(tokens, 0u) << "a pass without a prompt is asked for";
  costs.observe(streams(16, 25));
  for (int i = 0; i < 30; ++i) {
    tokens = costs.prompt_allowance(view);
    costs.observe(with_prompt(16, tokens, 25 + tokens * 0.02));
  }
  EXPECT_GT(costs.prompt_allowance(view), 500u);
}

// A token of a prompt takes 0.05 ms, a pass 10: half of a step is for a prompt.
TEST(FlatCosts, APromptGetsAsMuchAsTheStreams) {
  FlatCosts costs;
  for (int i = 0; i < 20; ++i) {
    costs.observe(streams(8, 10));
    costs.observe(with_prompt(8, 128, 10 + 128 * 0.05));
  }
  const std::uint32_t tokens = costs.prompt_allowance({.decoding = 8, .prompts = 1, .limit = 4096});
  EXPECT_NEAR(tokens, 10 * (PrefillPacer::kStretch - 1) / 0.05, PrefillPacer::kTile);
}

TEST(FlatCosts, TheFirstPassOfAllCountsForLittle) {
  FlatCosts slow, quick;
  slow.observe(streams(8, 900));
  slow.observe(streams(8, 10));
  quick.observe(streams(8, 10));
  for (FlatCosts* costs : {&slow, &quick}) costs->observe(with_prompt(8, 128, 20));
  const PromptsView view{.decoding = 8, .prompts = 1, .limit = 4096};
  EXPECT_EQ(slow.prompt_allowance(view), quick.prompt_allowance(view));
}

TEST(FlatCosts, APassThatWasDisturbedCountsForLittle) {
  FlatCosts costs, quiet;
  for (int i = 0; i < 10; ++i) {
    costs.observe(streams(8, 10));
    quiet.observe(streams(8, 10));
  }
  costs.observe(streams(8, 5000));
  costs.observe(streams(8, 0));  // a clock that stands still
  for (FlatCosts* one : {&costs, &quiet}) one->observe(with_prompt(8, 128, 20));
  const PromptsView view{.decoding = 8, .prompts = 1, .limit = 4096};
  EXPECT_LT(costs.prompt_allowance(view), 2 * quiet.prompt_allowance(view));
}

// ---- and one for CPUs

TEST(CpuCosts, TurnsGoOnUntilTheyAreClearlyWorse) {
  CpuCosts costs;
  EXPECT_TRUE(costs.turn(2, 0).trial) << "nothing is known";
  for (int i = 0; i < 2; ++i) {
    costs.observe(streams(2, 44));
    costs.observe(streams(1, 16));
  }
  EXPECT_EQ(costs.turn(2, 0).sessions, 1u);
  const auto observe = [&](double two, double one) {
    for (int i = 0; i < 200; ++i) {
      costs.observe(streams(2, two));
      costs.observe(streams(1, one));
    }
  };
  observe(31, 16);
  EXPECT_EQ(costs.turn(2, 0).sessions, 1u) << "a little better together now, but a change makes a token late";
  observe(20, 16);
  EXPECT_EQ(costs.turn(2, 0).sessions, 2u);
}

TEST(CpuCosts, FillsPassesUpWhereThatWasMeasured) {
  CpuCosts costs;
  EXPECT_EQ(costs.max_padding(), kMaxPadding);
  EXPECT_EQ(costs.filled_rows(7, 7), 7u);
  for (int i = 0; i < 2; ++i) {
    costs.observe(streams(7, 88));
    costs.observe(streams(8, 71));
  }
  EXPECT_EQ(costs.filled_rows(7, 7), 8u);
}

TEST(CpuCosts, WithoutMeasuringRowsAreCheapAndNothingIsTried) {
  CpuCosts costs({.measure_rows = false});
  for (int i = 0; i < 2; ++i) {
    costs.observe(streams(7, 88));
    costs.observe(streams(8, 71));
    costs.observe(streams(1, 1));
  }
  EXPECT_EQ(costs.turn(7, 7).sessions, 7u);
  EXPECT_FALSE(costs.turn(7, 7).trial);
  EXPECT_EQ(costs.filled_rows(7, 7), 7u);
  EXPECT_EQ(costs.max_padding(), 0u);
  EXPECT_EQ(costs.rows().of(8), FlatRows().of(8));
}

TEST(CpuCosts, EachNumberOfStreamsIsMeasuredBeforePromptsGoBesideIt) {
  CpuCosts costs;
  costs.observe(streams(3, 50));
  EXPECT_GT(costs.prompt_allowance({.decoding = 3, .prompts = 1, .limit = 512}), 0u);
  EXPECT_EQ(costs.prompt_allowance({.decoding = 4, .prompts = 1, .limit = 512}), 0u);
  EXPECT_GT(costs.prompt_allowance({.decoding = 4, .prompts = 5, .limit = 512}), 0u);
}

TEST(CpuCosts, HalfOfTheThreadsBeginWithWhatIsKnownOfAll) {
  CpuCosts costs;
  for (int i = 0; i < 2; ++i) costs.observe(streams(7, 80));
  costs.share_threads(true);
  const PromptsView view{.decoding = 7, .prompts = 1, .limit = 512};
  EXPECT_GT(costs.prompt_allowance(view), 0u);
  for (int i = 0; i < 2; ++i) costs.observe(streams(7, 160));
  EXPECT_NEAR(costs.rows().of(7), 160, 1);
  costs.share_threads(false);
  EXPECT_NEAR(costs.rows().of(7), 80, 1) << "what all take is another matter";
  costs.observe(streams(5, 60));
  costs.share_threads(true);
  EXPECT_NEAR(costs.rows().of(7), 160, 1) << "and half of them are known by now";
  EXPECT_EQ(costs.prompt_allowance({.decoding = 5, .prompts = 1, .limit = 512}), 0u);
  EXPECT_GT(costs.prompt_allowance({.decoding = 5, .prompts = 1, .limit = 512, .all_threads = true}), 0u);
}

TEST(CpuCosts, LongSessionsGetPartsWhereCellsOfOthersCost) {
  const std::vector<LayoutView> sessions(4, {.tokens = 2000, .cached = 1999, .remaining = 1000});
  const LayoutFacts facts{.now = {}, .made = true, .cells = 32768, .multiple = 256, .max_streams = 8};
  EXPECT_FALSE(CpuCosts().may_split());
  EXPECT_TRUE(CpuCosts().layout(sessions, facts).unified());
  CpuCosts costs({.foreign_cell_ms = 0.001});
  EXPECT_TRUE(costs.may_split());
  EXPECT_FALSE(costs.layout(sessions, facts).unified());
  for (int i = 0; i < 30; ++i) costs.memory_made(1e6);
  EXPECT_TRUE(costs.layout(sessions, facts).unified()) << "a change would take longer than it gains";
}

}  // namespace
}  // namespace corral::engine
