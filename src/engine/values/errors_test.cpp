// Errors carry their facts as values: nobody reads a number out of a message.
#include "engine/values/errors.h"

#include <gmock/gmock.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(ErrorFacts, ContextFullTellsNeededPastAndLimit) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = *service->create_session({.n_ctx = 40});
  EXPECT_TRUE(service->append_input(session, some_tokens(30)));
  const auto refused = service->append_input(session, some_tokens(20));
  ASSERT_FALSE(refused);
  const auto* full = refused.error().fact<ContextFull>();
  ASSERT_NE(full, nullptr);
  EXPECT_EQ(full->needed, 51u);
  EXPECT_EQ(full->n_past, 30u);
  EXPECT_EQ(full->n_ctx, 40u);

  // At the end of a generation that filled it, and of one that can't begin.
  for (const std::size_t tokens : {10u, 0u}) {
    const Answer answer = generate(*service, session, endless(100));
    EXPECT_EQ(answer.tokens.size(), tokens);
    ASSERT_TRUE(answer.finish.error);
    full = answer.finish.error->fact<ContextFull>();
    ASSERT_NE(full, nullptr);
    EXPECT_EQ(full->needed, 41u);
    EXPECT_EQ(full->n_past, 40u);
    EXPECT_EQ(full->n_ctx, 40u);
  }
}

TEST(ErrorFacts, SessionsAreNamed) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.max_sequences = 1;
  options.max_queue = 0;
  options.stream_tokens = 8;
  const auto service = load(options);
  const auto missing = service->cancel_generate(SessionId(7));
  ASSERT_FALSE(missing);
  ASSERT_NE(missing.error().fact<SessionNotFound>(), nullptr);
  EXPECT_EQ(missing.error().fact<SessionNotFound>()->id, SessionId(7));

  const SessionId session = session_with(*service, "go\n");
  auto running = *service->generate_stream(session, greedy(100'000));
  const auto busy = service->generate_stream(session, greedy(1));
  ASSERT_FALSE(busy);
  ASSERT_NE(busy.error().fact<SessionBusy>(), nullptr);
  EXPECT_EQ(busy.error().fact<SessionBusy>()->id, session);

  const auto full = service->generate_stream(session_with(*service, "go\n"), greedy(1));
  ASSERT_FALSE(full);
  ASSERT_NE(full.error().fact<QueueFull>(), nullptr);
  EXPECT_EQ(full.error().fact<QueueFull>()->limit, 1u);
}

TEST(ErrorFacts, FailedLoadTellsPathAndCause) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = "/nowhere/model.gguf";
  const auto failed = InferenceEngine::load(options);
  ASSERT_FALSE(failed);
  const auto* facts = failed.error().fact<LoadFailed>();
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(facts->path, options.path);
  EXPECT_FALSE(facts->cause.empty());
  EXPECT_THAT(failed.error().message,
              ::testing::AllOf(::testing::HasSubstr(facts->path), ::testing::HasSubstr(facts->cause)));
}

}  // namespace
}  // namespace corral::engine::test
