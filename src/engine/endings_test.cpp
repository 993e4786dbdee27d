// Rule: every stream ends with exactly one terminal item, whatever happens. (drain() checks "exactly one".)
#include <cmath>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(GenerationFinisher, StopAtTheEndOfTheAnswer) {
  const auto service = load(load_options("scripted-hello"));
  const SessionId session = session_with(*service, "Hi\n");
  const Answer answer = generate(*service, session, greedy(100));
  EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  EXPECT_EQ(answer.text,
            "Hello! I am a scripted model, and every word of this answer was known before you asked for it.");
  EXPECT_EQ(answer.finish.usage.completion_tokens, answer.tokens.size());
  EXPECT_TRUE(service->is_end_of_generation(answer.tokens.back()));
}

TEST(GenerationFinisher, LengthAtMaxNewTokens) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = session_with(*service, some_tokens(10));
  const Answer answer = generate(*service, session, endless(7));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.tokens.size(), 7u);
  EXPECT_EQ(answer.finish.usage.prompt_tokens, 10u);
  EXPECT_EQ(answer.finish.usage.completion_tokens, 7u);
  EXPECT_GT(answer.finish.timings.prompt_ms, 0);
}

// The last token is left to whoever goes on, who needs its logits: a state that can't be cut back is of use as well.
TEST(GenerationFinisher, MaxNewTokensZeroComputesWhatIsThereAndNoMore) {
  for (const char* model : {"tiny-llama", "tiny-mamba"}) {
    SCOPED_TRACE(model);
    const auto service = load(load_options(model));
    const SessionId session = session_with(*service, some_tokens(100));
    for (int time = 0; time < 2; ++time) {
      const Answer nothing = generate(*service, session, endless(0));
      EXPECT_EQ(nothing.finish.reason, FinishReason::length);
      EXPECT_TRUE(nothing.tokens.empty());
      EXPECT_EQ(nothing.finish.usage.completion_tokens, 0u);
      service->sessions();  // behind the pass
      EXPECT_EQ(service->stats().total().prompt_tokens, 99u);
      EXPECT_EQ(service->stats().total().predicted_tokens, 0u);
    }
    const Answer answer = generate(*service, session, endless(5));
    EXPECT_EQ(answer.finish.usage.cached_tokens, 99u);
    EXPECT_TRUE(Reference(model).is_greedy(some_tokens(100), answer.tokens, true));
  }
}

// All is computed after this answer, and so it stays.
TEST(GenerationFinisher, MaxNewTokensZeroWhereNothingIsLeft) {
  for (const char* model : {"tiny-llama", "tiny-mamba"}) {
    SCOPED_TRACE(model);
    const auto service = load(load_options(model));
    const SessionId session = session_with(*service, some_tokens(100));
    const Answer first = generate(*service, session, endless(5));
    EXPECT_TRUE(service->append_input(session, some_tokens(1, 9)));
    EXPECT_EQ(generate(*service, session, endless(0)).finish.reason, FinishReason::length);
    EXPECT_EQ(generate(*service, session, endless(0)).finish.reason, FinishReason::length);
    const std::vector<Token> history = some_tokens(100) + first.tokens + some_tokens(1, 9);
    EXPECT_TRUE(Reference(model).is_greedy(history, generate(*service, session, endless(5)).tokens, true));
    service->sessions();
    EXPECT_EQ(service->stats().total().prompt_tokens, 100u + 2) << "nothing was computed twice";
  }
}

TEST(GenerationFinisher, NothingPendingIsAnError) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = *service->create_session();
  EXPECT_TRUE(service->append_input(session, ""));
  EXPECT_TRUE(service->append_input(session, std::span<const Token>{}));
  const Answer answer = generate(*service, session, greedy(5));
  EXPECT_EQ(answer.finish.reason, FinishReason::error);
  ASSERT_TRUE(answer.finish.error);
  EXPECT_EQ(answer.finish.error->code, errc::invalid_argument);
}

TEST(GenerationFinisher, CancelWhileIdleDoesNothing) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = session_with(*service, some_tokens(10));
  EXPECT_TRUE(service->cancel_generate(session));
  EXPECT_EQ(generate(*service, session, endless(5)).finish.reason, FinishReason::length);
  EXPECT_TRUE(service->cancel_generate(session));
}

TEST(GenerationFinisher, CancelledByIdAndByHandle) {
  const auto service = load(load_options("scripted-endless"));
  const SessionId session = session_with(*service, "go\n");
  auto by_id = *service->generate_stream(session, greedy(1'000'000));
  EXPECT_TRUE(by_id.next());
  EXPECT_TRUE(service->cancel_generate(session));
  EXPECT_EQ(drain(by_id).finish.reason, FinishReason::cancelled);
  auto by_handle = *service->generate_stream(session, greedy(1'000'000));
  EXPECT_TRUE(by_handle.next());
  by_handle.cancel();
  EXPECT_EQ(drain(by_handle).finish.reason, FinishReason::cancelled);
}

TEST(GenerationFinisher, DroppingTheHandleFreesTheSessionForTheNextGeneration) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.max_sequences = 1;
  const auto service = load(options);
  const SessionId left = session_with(*service, "go\n"), other = session_with(*service, "go\n");
  {
    auto stream = *service->generate_stream(left, greedy(1'000'000));
    EXPECT_TRUE(stream.next());
  }
  // The only place is free again, or this would wait for ever.
  EXPECT_EQ(generate(*service, other, greedy(5)).finish.reason, FinishReason::length);
}

TEST(GenerationFinisher, SessionEndedDuringGeneration) {
  const auto service = load(load_options("scripted-endless"));
  const SessionId session = session_with(*service, "go\n");
  auto stream = *service->generate_stream(session, greedy(1'000'000));
  EXPECT_TRUE(stream.next());
  EXPECT_TRUE(service->end_session(session));
  EXPECT_EQ(drain(stream).finish.reason, FinishReason::session_ended);
  EXPECT_EQ(service->generate_stream(session, greedy(1)).error().code, errc::session_not_found);
  EXPECT_EQ(service->append_input(session, "x").error().code, errc::session_not_found);
  EXPECT_EQ(service->cancel_generate(session).error().code, errc::session_not_found);
  EXPECT_EQ(service->end_session(session).error().code, errc::session_not_found);
}

TEST(GenerationFinisher, BusyUnlessTheCallSupersedes) {
  const auto service = load(load_options("scripted-endless"));
  const SessionId session = session_with(*service, "go\n");
  auto first = *service->generate_stream(session, greedy(1'000'000));
  EXPECT_TRUE(first.next());
  const auto busy = service->generate_stream(session, greedy(5));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, errc::session_busy);
  GenerateOptions next = greedy(5);
  next.supersede = true;
  const Answer second = generate(*service, session, next);
  EXPECT_EQ(second.finish.reason, FinishReason::length);
  EXPECT_EQ(drain(first).finish.reason, FinishReason::superseded);
}

TEST(GenerationFinisher, ShutdownEndsRunningAndWaitingStreamsAndHandlesStayValid) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.max_sequences = 1;
  auto service = load(options);
  const SessionId a = session_with(*service, "go\n"), b = session_with(*service, "go\n");
  auto running = *service->generate_stream(a, greedy(1'000'000));
  EXPECT_TRUE(running.next());
  auto waiting = *service->generate_stream(b, greedy(1'000'000));
  service.reset();
  EXPECT_EQ(drain(running).finish.reason, FinishReason::shutdown);
  EXPECT_EQ(drain(waiting).finish.reason, FinishReason::shutdown);
  running.cancel();
}

TEST(GenerationFinisher, QueueFullIsToldAtOnce) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.max_sequences = 1;
  options.max_queue = 1;
  const auto service = load(options);
  std::vector<StreamHandle> streams;
  for (int i = 0; i < 2; ++i)
    streams.push_back(*service->generate_stream(session_with(*service, "go\n"), greedy(1'000'000)));
  const auto third = service->generate_stream(session_with(*service, "go\n"), greedy(1));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, errc::queue_full);
}

TEST(GenerationFinisher, OneFailingSessionDoesNotDisturbTheOthers) {
  const auto service = load(load_options("tiny-llama"));
  const std::vector<Token> prompt = some_tokens(20);
  auto good = *service->generate_stream(session_with(*service, prompt), endless(60));
  GenerateOptions hopeless = greedy(20);
  for (Token token = 0; token < static_cast<Token>(service->facts().n_vocab); ++token)
    hopeless.sampling.logit_bias.push_back({token, -INFINITY});
  const Answer bad = generate(*service, session_with(*service, prompt), hopeless);
  EXPECT_EQ(bad.finish.reason, FinishReason::error);
  EXPECT_EQ(bad.finish.error->code, errc::decode_failed);
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(prompt, drain(good).tokens, true));
}

}  // namespace
}  // namespace corral::engine::test
