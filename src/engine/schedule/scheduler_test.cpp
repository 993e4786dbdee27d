#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::engine {

bool operator==(const BatchItem& a, const BatchItem& b) {
  return a.index == b.index && a.tokens == b.tokens && a.output == b.output;
}
void PrintTo(const BatchItem& item, std::ostream* out) {
  *out << "{" << item.index << ", " << item.tokens << (item.output ? ", output}" : "}");
}

namespace {

using ::testing::ElementsAre;

RunnableView decoding(std::uint64_t order) { return {.pending = 1, .decoding = true, .order = order}; }
RunnableView prompt(std::uint32_t tokens, std::uint64_t order) {
  return {.pending = tokens, .decoding = false, .order = order};
}

constexpr BatchLimits kLimits{.tokens = 100, .outputs = 16, .prefill = 40};

TEST(PlanBatch, NothingToDo) { EXPECT_TRUE(plan_batch({}, kLimits).empty()); }

TEST(PlanBatch, EveryDecodingSessionGoesFirst) {
  const std::vector<RunnableView> sessions = {prompt(500, 1), decoding(2), decoding(3)};
  EXPECT_THAT(plan_batch(sessions, kLimits),
              ElementsAre(BatchItem{1, 1, true}, BatchItem{2, 1, true}, BatchItem{0, 40, false}));
}

TEST(PlanBatch, APromptAloneGetsTheWholePass) {
  const std::vector<RunnableView> sessions = {prompt(500, 1)};
  EXPECT_THAT(plan_batch(sessions, kLimits), ElementsAre(BatchItem{0, 100, false}));
}

TEST(PlanBatch, TheLastPieceOfAPromptAsksForLogits) {
  const std::vector<RunnableView> sessions = {prompt(100, 1)};
  EXPECT_THAT(plan_batch(sessions, kLimits), ElementsAre(BatchItem{0, 100, true}));
}

TEST(PlanBatch, TheOldestPromptGetsHalfAndAShortOneIsDoneAtOnce) {
  const std::vector<RunnableView> sessions = {prompt(1000, 1), prompt(1000, 2), prompt(5, 3)};
  EXPECT_THAT(plan_batch(sessions, kLimits),
              ElementsAre(BatchItem{0, 50, false}, BatchItem{1, 45, false}, BatchItem{2, 5, true}));
}

TEST(PlanBatch, OfManyThatComeAtOnceTheFirstAreThroughEarly) {
  const std::vector<RunnableView> sessions = {prompt(40, 1), prompt(40, 2), prompt(40, 3), prompt(39, 4)};
  EXPECT_THAT(plan_batch(sessions, kLimits),
              ElementsAre(BatchItem{0, 40, true}, BatchItem{1, 21, false}, BatchItem{3, 39, true}));
}

TEST(PlanBatch, WithoutRoomForLogitsAPromptStopsOneShort) {
  const std::vector<RunnableView> sessions = {decoding(1), decoding(2), prompt(10, 3)};
  EXPECT_THAT(plan_batch(sessions, {.tokens = 100, .outputs = 2, .prefill = 40}),
              ElementsAre(BatchItem{0, 1, true}, BatchItem{1, 1, true}, BatchItem{2, 9, false}));
}

TEST(PlanBatch, StreamsThatHaveJustBegunWaitForShortPrompts) {
  RunnableView settled = decoding(1);
  settled.settled = true;
  EXPECT_FALSE(wants_even_steps(std::vector{decoding(1), decoding(2), prompt(255, 3)}, 256));
  EXPECT_TRUE(wants_even_steps(std::vector{decoding(1), decoding(2), prompt(256, 3)}, 256));
  EXPECT_TRUE(wants_even_steps(std::vector{settled, decoding(2), prompt(255, 3)}, 256));
}

// Seeded: any mix of sessions, run to the end.
TEST(PlanBatch, PropertiesHoldForRandomMixes) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t low, std::uint32_t high) {
      return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
    };
    BatchLimits limits{.tokens = pick(8, 256), .outputs = pick(1, 20), .prefill = 0};
    limits.prefill = pick(1, limits.tokens);
    std::vector<RunnableView> sessions;
    for (std::uint32_t i = 0, n = pick(1, std::min(limits.outputs, limits.tokens)); i < n; ++i) {
      sessions.push_back(pick(0, 1) != 0 ? decoding(random()) : prompt(pick(1, 2000), random()));
    }
    std::uint64_t passes = 0;
    while (!sessions.empty()) {
      ASSERT_LT(++passes, 100'000u) << "a prompt starves";
      const std::vector<BatchItem> plan = plan_batch(sessions, limits);
      const auto oldest = std::ranges::min_element(
          sessions, {}, [](const RunnableView& s) { return s.decoding ? UINT64_MAX : s.order; });
      std::uint32_t tokens = 0, outputs = 0, prefill = 0, decodes = 0, wanted = 0;
      std::map<std::uint32_t, const BatchItem*> by_session;
      for (const BatchItem& item : plan) {
        ASSERT_LT(item.index, sessions.size());
        ASSERT_TRUE(by_session.emplace(item.index, &item).second) << "one session twice";
        ASSERT_GE(item.tokens, 1u);
        ASSERT_LE(item.tokens, sessions[item.index].pending);
        ASSERT_EQ(item.output, item.tokens == sessions[item.index].pending);
        tokens += item.tokens;
        outputs += item.output ? 1 : 0;
        (sessions[item.index].decoding ? decodes : prefill) += item.tokens;
      }
      for (const RunnableView& session : sessions) {
        if (!session.decoding) wanted += session.pending;
      }
      ASSERT_LE(tokens, limits.tokens);
      ASSERT_LE(outputs, limits.outputs);
      ASSERT_EQ(decodes, static_cast<std::uint32_t>(std::ranges::count_if(sessions, &RunnableView::decoding)))
          << "a running stream stands still";
      const std::uint32_t budget = decodes > 0 ? std::min(limits.prefill, limits.tokens - decodes) : limits.tokens;
      ASSERT_LE(prefill, budget);
      ASSERT_GE(prefill + limits.outputs, std::min(budget, wanted)) << "budget left over while prompts wait";
      if (wanted > 0 && budget > 1) {
        const auto found = by_session.find(static_cast<std::uint32_t>(oldest - sessions.begin()));
        ASSERT_TRUE(found != by_session.end()) << "the oldest prompt stands still";
        ASSERT_GE(found->second->tokens + 1, std::min(oldest->pending, budget / 2));
      }
      // Play the pass: finished prompts decode from now on, decoding sessions end now and then.
      std::vector<RunnableView> next;
      for (std::uint32_t i = 0; i < sessions.size(); ++i) {
        RunnableView session = sessions[i];
        const auto found = by_session.find(i);
        if (session.decoding) {
          if (pick(0, 3) == 0) continue;
        } else if (found != by_session.end()) {
          session.pending -= found->second->tokens;
          if (session.pending == 0) session = decoding(session.order);
        }
        next.push_back(session);
      }
      sessions = std::move(next);
    }
  }
}

TEST(PrefillPacer, GuessesUntilItKnows) {
  EXPECT_EQ(PrefillPacer().allowance(0, 0, 1, 100, 512), PrefillPacer::kFirstAllowance);
  EXPECT_EQ(PrefillPacer().allowance(0, 0, 1, 100, 16), 16u);
}

// Streams that take `decode_ms` alone, and prompts at `prefill_ms` a token.
struct Known {
  double decode_ms;
  PrefillPacer pacer = {};
  Known(double decode, double prefill_ms) : decode_ms(decode) {
    for (const std::uint32_t tokens : {100u, 50u})
      pacer.observe({.decoding = 4, .prefill = tokens, .ms = decode_ms + tokens * prefill_ms, .decode_ms = decode_ms});
  }
  std::uint32_t allowance(std::uint32_t decoding, std::uint32_t prompts, double max_ms, std::uint32_t limit) const {
    return pacer.allowance(decoding, decoding > 0 ? decode_ms : 0, prompts, max_ms, limit);
  }
};

TEST(PrefillPacer, PromptsTakeAsLongAsTheStreamsBesideThem) {
  EXPECT_NEAR(Known(400, 2).allowance(8, 1, 1000, 512), 400 * (PrefillPacer::kStretch - 1) / 2, PrefillPacer::kTile);
  EXPECT_EQ(Known(40, 100).allowance(4, 1, 1000, 512), PrefillPacer::kTile - 4) << "at least a tile";
  EXPECT_EQ(Known(40, 100).allowance(14, 1, 1000, 512), 2 * PrefillPacer::kTile - 14) << "not next to nothing";
  EXPECT_EQ(Known(40, 0.01).allowance(4, 1, 1000, 512), 512u);
}

TEST(PrefillPacer, ManyPromptsAreNotHeldUpByOneStream) {
  const Known pacer(40, 2);
  EXPECT_NEAR(pacer.allowance(8, 17, 1000, 512), 6 * 40 * (PrefillPacer::kStretch - 1) / 2, PrefillPacer::kTile);
  EXPECT_EQ(pacer.allowance(8, 3, 1000, 512), pacer.allowance(8, 1, 1000, 512));
  EXPECT_EQ(pacer.allowance(1, 15, 1000, 512), 512u);
}

TEST(PrefillPacer, ALargeChunkMayBeCheaperThanASmallOne) {
  PrefillPacer pacer;
  pacer.observe({.decoding = 8, .prefill = 24, .ms = 100 + 24 * 8, .decode_ms = 100});
  pacer.observe({.decoding = 8, .prefill = 72, .ms = 100 + 72 * 3, .decode_ms = 100});
  EXPECT_EQ(pacer.allowance(8, 100, 1, 1000, 512), PrefillPacer::kTile - 8)
      << "a large one would stretch the step too much";
  EXPECT_NEAR(pacer.allowance(8, 100, 9, 1000, 512), 3 * 90 / 3, PrefillPacer::kTile);
}

TEST(PrefillPacer, WhatALargeChunkCostsIsForgottenAndTriedAgain) {
  PrefillPacer pacer;
  const PrefillPacer::Pass small{.decoding = 8, .prefill = 24, .ms = 100 + 24 * 3, .decode_ms = 100};
  pacer.observe({.decoding = 8, .prefill = 64, .ms = 100 + 64 * 50, .decode_ms = 100});
  for (int i = 0; i < 100; ++i) pacer.observe(small);
  EXPECT_LT(pacer.allowance(8, 100, 9, 1000, 512), 130u);
  for (int i = 0; i < 500; ++i) pacer.observe(small);
  EXPECT_GT(pacer.allowance(8, 100, 9, 1000, 512), 130u);
}

TEST(PrefillPacer, AStepNeverGetsMuchLongerThanAllowed) {
  EXPECT_NEAR(Known(400, 2).allowance(0, 1, 100, 512), 50, PrefillPacer::kTile);
}

TEST(PrefillPacer, FillsWholeTiles) {
  for (std::uint32_t decoding = 1; decoding < 20; ++decoding) {
    const std::uint32_t tokens = Known(200, 2).allowance(decoding, 1, 1000, 512);
    EXPECT_EQ((decoding + tokens) % PrefillPacer::kTile, 0u) << decoding << " and " << tokens;
    EXPECT_LE(tokens, 90 + PrefillPacer::kTile / 2);
  }
}

TEST(PrefillPacer, PromptsAloneTeachWhatATokenCosts) {
  PrefillPacer pacer;
  for (int i = 0; i < 50; ++i) pacer.observe({.decoding = 0, .prefill = 512, .ms = 1024});
  EXPECT_NEAR(pacer.allowance(0, 0, 1, 100, 512), 50, PrefillPacer::kTile);
}

}  // namespace
}  // namespace corral::engine
