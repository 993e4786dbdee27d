// Rows that fill up a pass (pass_rows.h) show nowhere: not in the answers, and not in anybody's cells. Each number of
// rows is tried, so that some passes are filled up on any machine.
#include "engine/test_held_worker.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kTokens = 200;

std::vector<Token> prompt(std::uint32_t i) { return some_tokens(60 + i, i + 1); }

EngineLoadOptions options_for(const std::string& model, KvLayout layout) {
  EngineLoadOptions options = load_options(model);
  options.max_sequences = 4;
  options.kv_layout = layout;
  options.speculative.max_tokens = 0;
  return options;
}

class PaddedPass : public ::testing::TestWithParam<KvLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, PaddedPass, ::testing::Values(KvLayout::unified, KvLayout::split),
                         [](const auto& info) { return info.param == KvLayout::split ? "parts" : "pool"; });

TEST_P(PaddedPass, ShowsInNoAnswerAndInNoCells) {
  const auto engine = load(options_for("tiny-llama", GetParam()));
  const Reference reference("tiny-llama");
  std::vector<SessionId> sessions;
  std::vector<StreamHandle> streams;
  {
    const HeldWorker held(*engine);  // so that they all come together
    // The last one is soon idle: in parts it has the last of four, and the rows go behind what it has computed. A
    // single pass of four isn't enough to know what four rows take.
    for (std::uint32_t i = 0; i < 4; ++i) {
      sessions.push_back(session_with(*engine, prompt(i)));
      streams.push_back(*engine->generate_stream(sessions[i], endless(i < 3 ? kTokens : 2)));
    }
  }
  std::vector<std::vector<Token>> answered;
  for (std::uint32_t i = 0; i < 4; ++i) {
    answered.push_back(drain(streams[i]).tokens);
    EXPECT_TRUE(reference.is_greedy(prompt(i), answered[i], true)) << i;
  }
  const auto views = engine->sessions();  // behind the last pass
  const WorkerStats stats = engine->stats().total();
  EXPECT_GT(stats.padding_rows, 0u);
  EXPECT_EQ(stats.batch_tokens, stats.prompt_tokens + stats.predicted_tokens - 4) << "the first ones follow prompts";
  EXPECT_EQ(stats.step_tokens.sum(), static_cast<double>(stats.batch_tokens));
  std::uint32_t cells = 0;
  for (const SessionView& view : views) cells += view.cached_tokens;
  EXPECT_EQ(stats.kv_used, cells);

  const Answer more = generate(*engine, sessions[3], endless(20));
  EXPECT_EQ(more.finish.usage.cached_tokens, prompt(3).size() + 1);
  EXPECT_TRUE(reference.is_greedy(prompt(3) + answered[3], more.tokens, true));
  EXPECT_EQ(engine->stats().total().restored, 0u) << "it lost its cells: the test is of no use";
}

TEST(FilledPasses, WhatCannotBeCutBackIsNotFilledUp) {
  const auto engine = load(options_for("tiny-mamba", KvLayout::unified));
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 3; ++i)
    streams.push_back(*engine->generate_stream(session_with(*engine, prompt(i)), endless(kTokens)));
  for (auto& stream : streams) drain(stream);
  EXPECT_EQ(engine->stats().total().padding_rows, 0u);
}

}  // namespace
}  // namespace corral::engine::test
