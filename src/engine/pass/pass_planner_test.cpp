#include "engine/pass/pass_planner.h"

#include "engine/pass/speculator.h"
#include "engine/schedule/draft_length.h"
#include "engine/worker/pass_runner.h"
#include "engine/worker/test_parts.h"

namespace corral::engine {
namespace {

// Guesses the same token for ever, and is sure of it.
class SureDrafter final : public Drafter {
 public:
  void draft(SessionId, std::span<const Token>, const DraftBudget& budget, std::vector<DraftToken>& to) override {
    to.insert(to.end(), budget.max, {.token = 7, .probability = 1});
  }
  void forget(SessionId) override {}
  void downsize() override { throw std::bad_alloc(); }
};

// Wants rows filled up to eight.
class FillingCosts final : public CostModel {
 public:
  const PassCosts& rows() const override { return rows_; }
  std::uint32_t max_padding() const override { return 7; }
  std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding) const override {
    return std::max(rows, std::min(8u, rows + padding));
  }
  Turn turn(std::uint32_t running, std::uint32_t) override { return {.sessions = in_turns ? 1 : running}; }
  std::uint32_t prompt_allowance(const PromptsView&) const override { return allowance; }
  bool may_split() const override { return false; }
  KvShape layout(std::span<const LayoutView>, LayoutFacts) override { return {}; }
  void memory_made(double) override {}
  void observe(const PassTime&) override {}
  void share_threads(bool) override {}

  bool in_turns = false;
  std::uint32_t allowance = 4;

 private:
  const FlatRows rows_;
};

class Planned : public test::Parts {
 protected:
  Planned()
      : Parts({.max_sequences = 4,
               .prefix_cache_tokens = 50,
               .threads = {4, 6},
               .lane_tokens = 20,
               .draft_tokens = 3,
               .draft_active = 2}) {}

  Session& streaming(std::uint32_t tokens) {
    Session& session = waiting(tokens, 100);
    stream(session);
    return session;
  }
  const Pass& planned() {
    planner.plan(pass);
    speculator.add(pass, sessions.active().size());
    planner.fill_up(pass);
    return pass;
  }

  FillingCosts filling;
  const PromptBudget budget{sessions, kv, filling, 16, options.lane_tokens};
  PassPlanner planner{{.sessions = sessions, .kv = kv, .costs = filling, .prompts = budget}, 16, options};
  Speculator speculator{std::make_unique<SureDrafter>(), kv, filling, 16, options};
  Pass pass;
};

TEST_F(Planned, StreamsGoWithATokenEachInTheOrderOfTheirSequences) {
  Session* const three[] = {&streaming(10), &streaming(8), &streaming(9)};
  sessions.wait(*three[0]);
  sessions.activate(*three[0]);
  ASSERT_EQ(planned().items.size(), 3u);
  EXPECT_TRUE(pass.streams_only());
  EXPECT_EQ(pass.items[0].session, three[0]);
  EXPECT_EQ(pass.rows(), 3u);
  EXPECT_TRUE(pass.drafts.empty()) << "three run, and beside two at most it pays";
  EXPECT_EQ(pass.padding.size(), 5u) << "up to eight";
}

TEST_F(Planned, WhereStreamsTakeTurnsTheOneThatWaitedLongestGoes) {
  Session& first = streaming(10);
  Session& second = streaming(8);
  filling.in_turns = true;
  sessions.next_pass();
  sessions.use(first);
  ASSERT_EQ(planned().items.size(), 1u);
  EXPECT_EQ(pass.items[0].session, &second);
  EXPECT_TRUE(pass.padding.empty());
}

TEST_F(Planned, PromptsAreHeldBackBesideStreamsThatWantEvenSteps) {
  streaming(10).generation->usage.completion_tokens = kSettledAfter;
  compute(waiting(15), 0);
  ASSERT_EQ(planned().items.size(), 2u);
  EXPECT_EQ(pass.limits.prefill, 4u);
  EXPECT_EQ(pass.items[1].tokens, 4u);
  EXPECT_TRUE(pass.padding.empty());
  filling.allowance = 0;
  EXPECT_EQ(planned().items.size(), 1u);
  EXPECT_TRUE(pass.measuring) << "what streams take alone isn't known";
  EXPECT_TRUE(pass.drafts.empty());
}

TEST_F(Planned, OneToBlameGoesAloneTheOldestFirst) {
  Session& first = streaming(10);
  Session& second = streaming(8);
  first.suspect_until = 10;
  second.suspect_until = 8;
  ASSERT_EQ(planned().items.size(), 1u);
  EXPECT_EQ(pass.items[0].session, &first);
  EXPECT_TRUE(pass.alone);
  EXPECT_TRUE(pass.drafts.empty());
  EXPECT_FALSE(pass.drop_extras()) << "there is nothing to take out";
  EXPECT_TRUE(view_of(pass, sessions).alone);
}

TEST_F(Planned, GuessesGoBehindTheTokensOfStreamsAndAreTakenOutFirst) {
  streaming(10);
  streaming(8);
  ASSERT_EQ(planned().items.size(), 2u);
  EXPECT_EQ(pass.items[0].drafted + pass.items[1].drafted, 3u);
  EXPECT_EQ(pass.rows(), 5u);
  EXPECT_TRUE(pass.drop_extras());
  EXPECT_EQ(pass.rows(), 2u);
  EXPECT_FALSE(pass.drop_extras());
}

TEST_F(Planned, NoGuessTakesWhatIsFreeFromTheOthers) {
  streaming(10);
  streaming(8);
  Session& idle = waiting(79);
  compute(idle, 79);
  finisher.finish(idle, FinishReason::length);
  EXPECT_EQ(kv->free_cells(), 5u);
  planned();
  EXPECT_EQ(pass.rows(), 5u) << "two tokens, and three guesses in what is left";
}

TEST_F(Planned, TheLastTokenOfAnAnswerIsNotGuessedAt) {
  Session& session = streaming(10);
  session.generation->max_new_tokens = 2;
  planned();
  EXPECT_TRUE(pass.drafts.empty());
}

TEST_F(Planned, ADrafterThatFailsKeepsNobodyFromStartingOver) { speculator.start_over(); }

TEST_F(Planned, ABatchHasTheLogitsOfLastTokensGuessesAndFillers) {
  streaming(10).generation->max_new_tokens = 3;
  compute(waiting(6), 2);
  pass.clear();
  pass.items = {{.session = sessions.active()[0], .tokens = 1, .drafted = 1, .first_draft = 0, .padding = 1},
                {.session = sessions.active()[1], .tokens = 3}};
  pass.drafts = {{.token = 7, .probability = 1}};
  pass.padding = {{.sequence = 0, .position = 0}};
  Batch batch(16);
  std::vector<std::uint64_t> prefilling;
  EXPECT_EQ(fill_batch(pass, batch, prefilling), 3u);
  EXPECT_EQ(prefilling, std::vector<std::uint64_t>{2});
  EXPECT_EQ(batch.size(), 7u);
  EXPECT_EQ(pass.items[0].row, 0);
  EXPECT_EQ(pass.items[1].row, -1) << "a token of it is left";
  const llama_batch& raw = batch.raw();
  EXPECT_EQ(raw.token[1], 7);
  const std::vector<std::int8_t> outputs(raw.logits, raw.logits + 7);
  EXPECT_EQ(outputs, (std::vector<std::int8_t>{1, 1, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace corral::engine
