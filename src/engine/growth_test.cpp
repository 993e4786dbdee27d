// Rule: a pool begins small and grows when a session needs more, up to what was found at the load; nobody who computes
// notices.
#include "engine/kv/parked_test_support.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

EngineLoadOptions growing(const char* model, std::uint32_t first) {
  EngineLoadOptions options = load_options(model);
  options.n_ctx = 0;
  options.first_ctx = first;
  return options;
}

class Growth : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Growth,
                         ::testing::Values("tiny-llama", "tiny-qwen3", "tiny-mamba", "tiny-jamba", "tiny-gemma3",
                                           "tiny-gpt-oss", "tiny-qwen2vl"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(Growth, APromptThatIsLongerThanThePoolIsComputed) {
  const auto engine = load(growing(GetParam(), 256));
  EXPECT_GE(engine->facts().n_ctx, 2048u) << "what a session may hold";
  EXPECT_EQ(engine->stats().total().kv_cells, 256u) << "what there is";
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(700);
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(20));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_TRUE(reference.is_greedy(prompt, answer.tokens, true));
  EXPECT_EQ(engine->stats().total().growths, 1u);
  EXPECT_EQ(engine->stats().total().kv_cells, 1024u);
}

TEST_P(Growth, AnAnswerThatOutgrowsThePoolGoesOn) {
  const auto engine = load(growing(GetParam(), 256));
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(200);
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(150));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.tokens.size(), 150u);
  EXPECT_TRUE(reference.is_greedy(prompt, answer.tokens, true));
  EXPECT_EQ(engine->stats().total().growths, 1u);
}

TEST_P(Growth, ADownsizeGivesAllOfItBack) {
  const auto engine = load(growing(GetParam(), 256));
  const SessionId session = session_with(*engine, some_tokens(700));
  generate(*engine, session, endless(5));
  EXPECT_TRUE(engine->downsize().done);
  const SessionId small = session_with(*engine, some_tokens(20));
  generate(*engine, small, endless(5));
  EXPECT_EQ(engine->stats().total().kv_cells, 256u);
  const Answer again = generate(*engine, session, endless(5));
  EXPECT_EQ(again.finish.reason, FinishReason::length);
  EXPECT_GE(again.finish.usage.cached_tokens, 704u) << "it was parked, and put back into the larger pool";
  EXPECT_EQ(engine->stats().total().kv_cells, 1024u);
}

// The windows of a session, or its state, move into the larger pool with it, while others run and idle ones wait.
TEST_P(Growth, WhoRunsBesideGoesOnWithWhatItHas) {
  const auto engine = load(growing(GetParam(), 512));
  const Reference reference(GetParam());
  const std::vector<Token> idle_prompt = some_tokens(100, 5);
  const SessionId idle = session_with(*engine, idle_prompt);
  const Answer before = generate(*engine, idle, endless(20));
  const std::vector<Token> short_prompt = some_tokens(60, 6), long_prompt = some_tokens(600, 7);
  auto runs = *engine->generate_stream(session_with(*engine, short_prompt), endless(200));
  Answer beside;
  beside.tokens = runs.next()->tokens;
  const Answer grown = generate(*engine, session_with(*engine, long_prompt), endless(20));
  EXPECT_TRUE(reference.is_greedy(long_prompt, grown.tokens, true));
  EXPECT_TRUE(reference.is_greedy(short_prompt, drain(runs, std::move(beside)).tokens, true));
  const Answer after = generate(*engine, idle, endless(20));
  EXPECT_TRUE(reference.is_greedy(idle_prompt + before.tokens, after.tokens, true));
  EXPECT_GE(after.finish.usage.cached_tokens, 118u);
  EXPECT_EQ(engine->stats().total().growths, 1u);
}

TEST(Growing, SessionsThatTogetherNeedMoreGetItBeforeAnybodyIsPutBack) {
  const auto engine = load(growing("tiny-llama", 512));
  const Reference reference("tiny-llama");
  std::vector<SessionId> sessions;
  std::vector<std::vector<Token>> prompts;
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 4; ++i) {
    prompts.push_back(some_tokens(200 + 10 * i, i + 2));
    sessions.push_back(session_with(*engine, prompts.back()));
    streams.push_back(*engine->generate_stream(sessions.back(), endless(40)));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Answer answer = drain(streams[i]);
    EXPECT_EQ(answer.finish.reason, FinishReason::length);
    EXPECT_TRUE(reference.is_greedy(prompts[i], answer.tokens, true)) << i;
  }
  EXPECT_EQ(engine->stats().total().preemptions, 0u);
  EXPECT_GE(engine->stats().total().growths, 1u);
}

TEST(Growing, AContextThatWasAskedForStaysWhatItIs) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 512;
  const auto engine = load(options);
  EXPECT_EQ(engine->facts().n_ctx, 512u);
  const auto refused = engine->create_session(some_tokens(600));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::context_full);
}

TEST(Growing, WhatIsKeptOfEndedSessionsGrowsWithIt) {
  const auto engine = load(growing("tiny-llama", 256));
  const std::vector<Token> prompt = some_tokens(700);
  const SessionId session = session_with(*engine, prompt);
  generate(*engine, session, endless(5));
  ASSERT_TRUE(engine->end_session(session));
  const SessionId second = session_with(*engine, some_tokens(400, 9));
  generate(*engine, second, endless(5));
  ASSERT_TRUE(engine->end_session(second));
  const SessionId third = session_with(*engine, some_tokens(20, 5));  // what there is shows after a pass
  generate(*engine, third, endless(5));
  EXPECT_EQ(engine->stats().total().cached_prefixes, 1u)
      << "705 of 1024 cells are more than half, and 405 would be of 256";
}

}  // namespace
}  // namespace corral::engine::test
