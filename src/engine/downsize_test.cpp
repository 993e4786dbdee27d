// Rule: downsized, an engine holds no cells and no compute memory, and nobody who goes on notices.
#include <cmath>

#include "engine/kv/parked_test_support.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

class Downsizing : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Downsizing,
                         ::testing::Values("tiny-llama", "tiny-qwen3", "tiny-mamba", "tiny-jamba", "tiny-gemma3",
                                           "tiny-gpt-oss", "tiny-qwen2vl"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(Downsizing, ASessionGoesOnWithoutComputingAnything) {
  const auto engine = load(load_options(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(200);
  const SessionId session = session_with(*engine, prompt);
  const Answer first = generate(*engine, session, endless(20));

  const DownsizeReport report = engine->downsize();
  EXPECT_TRUE(report.done);
  EXPECT_EQ(report.sessions, 1u);
  EXPECT_GT(report.parked_bytes, 0u);
  EXPECT_EQ(engine->sessions().front().state, SessionState::parked);
  EXPECT_EQ(engine->stats().total().kv_used, 0u);

  const Answer second = generate(*engine, session, endless(20));
  EXPECT_EQ(second.finish.usage.cached_tokens, 219u) << "all but the last token, which nobody had decoded";
  EXPECT_TRUE(reference.is_greedy(prompt + first.tokens, second.tokens, true));
  EXPECT_EQ(engine->stats().total().restored, 1u);
}

// It used to compute everything again.
TEST_P(Downsizing, ASessionThatSharesNothingGoesOnToo) {
  const auto engine = load(load_options(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(200);
  const SessionId session = *engine->create_session({.share_prefix = false});
  ASSERT_TRUE(engine->append_input(session, prompt));
  const Answer first = generate(*engine, session, endless(20));
  EXPECT_GT(engine->downsize().parked_bytes, 0u);

  const SessionId other = session_with(*engine, prompt + first.tokens);
  EXPECT_EQ(generate(*engine, other, endless(5)).finish.usage.cached_tokens, 0u) << "nobody else finds it";
  ASSERT_TRUE(engine->end_session(other));
  EXPECT_TRUE(engine->downsize().done);
  const Answer second = generate(*engine, session, endless(20));
  EXPECT_EQ(second.finish.usage.cached_tokens, 219u);
  EXPECT_TRUE(reference.is_greedy(prompt + first.tokens, second.tokens, true));
  EXPECT_EQ(engine->stats().parked->entries, 1u) << "the other's; its own is in cells again";

  EXPECT_TRUE(engine->downsize().done);
  EXPECT_EQ(engine->stats().parked->entries, 2u);
  ASSERT_TRUE(engine->end_session(session));
  (void)engine->sessions();
  EXPECT_EQ(engine->stats().parked->entries, 1u) << "it went with its session";
}

// A conversation of 220 tokens and the downsizing behind it.
DownsizeReport downsize_behind(InferenceEngine& engine, SessionId session) {
  generate(engine, session, endless(20));
  const DownsizeReport report = engine.downsize();
  EXPECT_TRUE(report.done);
  return report;
}

// What doesn't fit is gone, and nobody is told otherwise.
TEST(Downsize, WhatCannotBeKeptIsNotSaidToBe) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.park_bytes = 1000;
  const auto engine = load(options);
  const SessionId session = session_with(*engine, some_tokens(200));
  EXPECT_EQ(downsize_behind(*engine, session).parked_bytes, 0u);
  EXPECT_EQ(engine->stats().total().parked, 0u);
  EXPECT_EQ(generate(*engine, session, endless(5)).finish.usage.cached_tokens, 0u);
}

class DownsizeToFolder : public ParkFolderTest {};

TEST_F(DownsizeToFolder, ConversationsDoNotStayInMemory) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.park_dir = folder_;
  const auto engine = load(options);
  const SessionId session = session_with(*engine, some_tokens(200));
  EXPECT_EQ(downsize_behind(*engine, session).parked_bytes, 0u);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(generate(*engine, session, endless(5)).finish.usage.cached_tokens, 219u);
}

TEST_F(DownsizeToFolder, WhatIsNotSharedIsNotWritten) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.park_dir = folder_;
  auto engine = load(options);
  const SessionId session = *engine->create_session({.share_prefix = false});
  ASSERT_TRUE(engine->append_input(session, some_tokens(200)));
  EXPECT_GT(downsize_behind(*engine, session).parked_bytes, 0u) << "it stays in memory";
  EXPECT_EQ(generate(*engine, session, endless(5)).finish.usage.cached_tokens, 219u);
  engine.reset();
  EXPECT_TRUE(files().empty());
}

// There is room for one of the two: for the one that somebody may ask for again.
TEST_F(DownsizeToFolder, WhatEndsWithItsSessionTakesNobodysPlaceAtTheEnd) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.park_dir = folder_;
  {
    const auto engine = load(load_options("tiny-llama"));
    options.park_bytes = downsize_behind(*engine, session_with(*engine, some_tokens(200))).parked_bytes * 3 / 2;
  }
  auto engine = load(options);
  const SessionId over = session_with(*engine, some_tokens(200));
  generate(*engine, over, endless(20));
  ASSERT_TRUE(engine->end_session(over));
  const SessionId alone = *engine->create_session({.share_prefix = false});
  ASSERT_TRUE(engine->append_input(alone, some_tokens(200, 5)));
  generate(*engine, alone, endless(20));
  engine.reset();
  EXPECT_EQ(files().size(), 1u);
}

TEST(Downsize, WaitsForNobodyAndInterruptsNobody) {
  const auto engine = load(load_options("tiny-llama"));
  const SessionId session = session_with(*engine, some_tokens(50));
  auto stream = engine->generate_stream(session, endless(1500));
  ASSERT_TRUE(stream->next());
  EXPECT_FALSE(engine->downsize().done);
  while (const auto chunk = stream->next()) {
    if (chunk->finish) EXPECT_EQ(chunk->finish->reason, FinishReason::length);
  }
}

TEST(Downsize, TwiceAndWithNothingToLose) {
  const auto engine = load(load_options("tiny-llama"));
  EXPECT_TRUE(engine->downsize().done);
  const DownsizeReport again = engine->downsize();
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.sessions, 0u);
  EXPECT_EQ(generate(*engine, session_with(*engine, some_tokens(20)), endless(5)).tokens.size(), 5u);
}

TEST(Downsize, AnEmbeddingModelComesBackToo) {
  const auto engine = load(load_options("tiny-embed"));
  const auto vector = [&] {
    auto handle = engine->embed({*engine->tokenize("a horse", true, false)});
    return handle->get()->values.front();
  };
  const auto before = vector();
  EXPECT_TRUE(engine->downsize().done);
  const auto after = vector();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-5);
}

TEST(SharePrefix, WhoDoesNotShareNeitherTakesNorLeaves) {
  const auto engine = load(load_options("tiny-llama"));
  const std::vector<Token> prompt = some_tokens(200);
  const auto cached = [&](bool share) {
    const auto session = engine->create_session({.share_prefix = share});
    EXPECT_TRUE(engine->append_input(*session, prompt));
    const Answer answer = generate(*engine, *session, endless(4));
    EXPECT_TRUE(engine->end_session(*session));
    return answer.finish.usage.cached_tokens;
  };
  EXPECT_EQ(cached(false), 0u);
  EXPECT_EQ(cached(true), 0u) << "the one before left nothing";
  EXPECT_EQ(cached(false), 0u) << "and takes nothing";
  EXPECT_EQ(cached(true), 199u);
}

// Several requests with the same new beginning: one computes it.
TEST(SharePrefix, WhatIsBeingComputedIsWaitedFor) {
  const auto engine = load(load_options("tiny-llama"));
  const std::vector<Token> prompt = some_tokens(1000);
  std::vector<StreamHandle> streams;
  for (int i = 0; i < 6; ++i)
    streams.push_back(*engine->generate_stream(session_with(*engine, prompt + some_tokens(5, 10 + i)), endless(4)));
  for (StreamHandle& stream : streams) EXPECT_EQ(drain(stream).finish.reason, FinishReason::length);
  EXPECT_LT(engine->stats().total().prompt_tokens, 1100u);
}

}  // namespace
}  // namespace corral::engine::test
