// Rules about contexts, cancelling and the text itself.
#include <atomic>
#include <thread>

#include "base/utf8.h"
#include "engine/llama/context.h"
#include "engine/sample/sampler.h"
#include "engine/test_held_worker.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

TEST(Limits, SessionAtItsOwnLimitFailsAlone) {
  const auto service = load(load_options("tiny-llama"));
  const Reference reference("tiny-llama");
  const SessionId small = *service->create_session({.n_ctx = 40});
  EXPECT_TRUE(service->append_input(small, some_tokens(30)));
  auto other = *service->generate_stream(session_with(*service, some_tokens(30, 2)), endless(60));
  const Answer answer = generate(*service, small, endless(1000));
  EXPECT_EQ(answer.finish.reason, FinishReason::context_full);
  EXPECT_TRUE(reference.is_greedy(some_tokens(30), answer.tokens, true));  // 40 in all
  const Answer again = generate(*service, small, endless(1));
  EXPECT_EQ(again.finish.reason, FinishReason::context_full);
  EXPECT_EQ(again.finish.error->code, errc::context_full);
  EXPECT_TRUE(reference.is_greedy(some_tokens(30, 2), drain(other).tokens, true));
}

TEST(Limits, TooLongAPromptIsRefusedWithNeededAndLimit) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 256;
  const auto service = load(options);
  const SessionId session = *service->create_session();
  EXPECT_TRUE(service->append_input(session, some_tokens(200)));
  const auto refused = service->append_input(session, some_tokens(56));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::context_full);
  EXPECT_NE(refused.error().message.find("257"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("256"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(service->append_input(session, some_tokens(55))) << "the refused tokens must not count";
  EXPECT_EQ(generate(*service, session, endless(10)).finish.reason, FinishReason::context_full);
}

TEST(Limits, ASessionMayHaveLessThanThePool) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_ctx = 512;
  options.n_ctx_session = 256;
  const auto service = load(options);
  EXPECT_EQ(service->facts().n_ctx, 256u);
  EXPECT_EQ(service->stats().total().kv_cells, 512u) << "the sessions share them";
  const SessionId session = *service->create_session();
  const auto refused = service->append_input(session, some_tokens(256));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::context_full);
  EXPECT_TRUE(service->append_input(session, some_tokens(255)));
  const auto empty = InferenceEngine::load_without_weights(options);
  ASSERT_TRUE(empty);
  EXPECT_EQ((*empty)->facts().n_ctx, 256u);
  options.path = load_options("tiny-embed").path;
  EXPECT_EQ(load(options)->facts().n_ctx, 512u) << "texts to embed don't share cells";
}

TEST(Limits, TokensOutsideTheVocabularyAreRefused) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = *service->create_session();
  for (const Token token : {-1, static_cast<Token>(service->facts().n_vocab), INT32_MAX}) {
    const auto refused = service->append_input(session, std::vector<Token>{1, token});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
  EXPECT_EQ(service->detokenize(std::vector<Token>{-1, INT32_MAX}), "");
}

TEST(Limits, CancelInPrefillAndGoOn) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.n_batch = 16;
  const auto service = load(options);
  const SessionId session = session_with(*service, some_tokens(1900));
  HeldWorker held(*service, [session](const Views& views) { return view_of(views, session).cached_tokens >= 64; });
  auto stream = *service->generate_stream(session, endless(10));
  const SessionView begun = view_of(held.views(), session);
  EXPECT_EQ(begun.state, SessionState::prefill);
  EXPECT_LT(begun.cached_tokens, 1900u) << "in the middle of the prompt";
  EXPECT_TRUE(service->cancel_generate(session));
  held.let_go();
  const Answer cancelled = drain(stream);
  EXPECT_EQ(cancelled.finish.reason, FinishReason::cancelled);
  EXPECT_TRUE(cancelled.tokens.empty());
  EXPECT_LT(service->stats().total().prompt_tokens, 1900u);
  EXPECT_TRUE(
      Reference("tiny-llama").is_greedy(some_tokens(1900), generate(*service, session, endless(10)).tokens, true));
}

// A pass that is cut short leaves the others' streams as they were. Where the cut falls is up to the scheduler of the
// machine; whatever it hits, the answers must not change.
TEST(Limits, CancelledPromptsDoNotChangeTheAnswersBesideThem) {
  const auto service = load(load_options("tiny-llama"));
  const Reference reference("tiny-llama");
  auto steady = *service->generate_stream(session_with(*service, some_tokens(30, 2)), endless(200));
  for (std::uint32_t i = 0; i < 20; ++i) {
    const SessionId session = session_with(*service, some_tokens(1000, 100 + i));
    auto stream = *service->generate_stream(session, endless(10));
    for (std::uint32_t k = 0; k < i * 20; ++k) std::this_thread::yield();
    EXPECT_TRUE(service->end_session(session));
    drain(stream);
  }
  EXPECT_TRUE(reference.is_greedy(some_tokens(30, 2), drain(steady).tokens, true));
}

TEST(Limits, AbortedPassRollsBackAndCanBeRepeated) {
  ASSERT_TRUE(load_backends());
  const EngineLoadOptions options = load_options("tiny-llama");
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  std::atomic<bool> abort = false;
  const auto context = LlamaContext::make(*model, options, abort);
  ASSERT_TRUE(context);
  Batch batch(64);
  const std::vector<Token> prompt = some_tokens(20);
  const auto fill = [&](std::uint32_t from, std::uint32_t count) {
    batch.clear();
    for (std::uint32_t i = from; i < from + count; ++i) batch.add(prompt[i], i, 0, i + 1 == prompt.size());
  };
  fill(0, 10);
  EXPECT_EQ((*context)->decode(batch), DecodeStatus::ok);
  fill(10, 10);
  abort = true;
  EXPECT_EQ((*context)->decode(batch), DecodeStatus::aborted);
  EXPECT_EQ((*context)->length(0), 10u);
  abort = false;
  EXPECT_EQ((*context)->decode(batch), DecodeStatus::ok);
  EXPECT_EQ((*context)->length(0), 20u);
  EXPECT_EQ(static_cast<Token>(argmax((*context)->logits(9), (*model)->facts().n_vocab)),
            Reference("tiny-llama").greedy(prompt, 1)[0]);
  EXPECT_TRUE((*context)->trim(0, 5));
  EXPECT_EQ((*context)->length(0), 5u);
}

TEST(Limits, RecurrentMemoryRefusesAPartialCut) {
  ASSERT_TRUE(load_backends());
  const EngineLoadOptions options = load_options("tiny-mamba");
  const auto model = Model::load(options, {});
  ASSERT_TRUE(model);
  const std::atomic<bool> abort = false;
  const auto context = LlamaContext::make(*model, options, abort);
  ASSERT_TRUE(context);
  EXPECT_FALSE((*model)->memory_rules().divisible);
  Batch batch(64);
  for (std::uint32_t i = 0; i < 10; ++i) batch.add(100, i, 0, i == 9);
  EXPECT_EQ((*context)->decode(batch), DecodeStatus::ok);
  EXPECT_FALSE((*context)->trim(0, 5));
  EXPECT_EQ((*context)->length(0), 0u);
}

TEST(Text, Utf8CharactersSplitOverTokensAreJoined) {
  const auto service = load(load_options("scripted-unicode"));
  auto stream = *service->generate_stream(session_with(*service, "go\n"), greedy(200));
  std::string text;
  while (auto chunk = stream.next()) {
    EXPECT_EQ(valid_utf8(chunk->text), chunk->text);
    EXPECT_EQ(chunk->text.find("\uFFFD"), std::string::npos);
    text += chunk->text;
  }
  EXPECT_EQ(text, "Grüße! 你好，世界 καλημέρα 🐎🌾🤠 — fin.");
}

TEST(Text, StopStringsCutExactlyAlsoAcrossTokens) {
  const auto service = load(load_options("scripted-hello"));
  const std::string whole =
      "Hello! I am a scripted model, and every word of this answer was known before you asked for it.";
  for (std::size_t at = 0; at + 5 < whole.size(); at += 3) {
    GenerateOptions options = greedy(100);
    options.stop = {"never met", whole.substr(at, 5)};
    const Answer answer = generate(*service, session_with(*service, "Hi\n"), options);
    EXPECT_EQ(answer.text, whole.substr(0, whole.find(options.stop[1])));
    EXPECT_EQ(answer.finish.stop_string, options.stop[1]);
    EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  }
}

TEST(Text, StopStringInsideAMultiByteText) {
  const auto service = load(load_options("scripted-unicode"));
  GenerateOptions options = greedy(200);
  options.stop = {"🌾"};
  EXPECT_EQ(generate(*service, session_with(*service, "go\n"), options).text, "Grüße! 你好，世界 καλημέρα 🐎");
}

TEST(Text, AStopStringThatIsNeverCompletedIsText) {
  const auto service = load(load_options("scripted-hello"));
  GenerateOptions options = greedy(100);
  options.stop = {"asked for it. Not"};
  EXPECT_TRUE(generate(*service, session_with(*service, "Hi\n"), options).text.ends_with("asked for it."));
}

TEST(Text, BosIsAddedOnceWhereTheVocabularyAsksForIt) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_bos("tiny-llama");
  const auto service = load(options);
  ASSERT_TRUE(service->facts().add_bos);
  const SessionId session = *service->create_session();
  EXPECT_TRUE(service->append_input(session, "one"));
  EXPECT_TRUE(service->append_input(session, " two"));
  const auto expected = *service->tokenize("one", true, false) + *service->tokenize(" two", false, false);
  EXPECT_EQ(expected.front(), service->facts().bos);
  const Answer answer = generate(*service, session, endless(5));
  EXPECT_EQ(answer.finish.usage.prompt_tokens, expected.size());
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(expected, answer.tokens, true));
  // This vocabulary asks for none.
  const auto plain = load(load_options("tiny-llama"));
  EXPECT_NE(plain->tokenize("one", true, false)->front(), plain->facts().bos);
}

TEST(Text, SpecialTokensInTextAreParsedOnlyWhenAsked) {
  const auto service = load(load_options("tiny-llama"));
  const std::string text = "<|im_start|>";
  EXPECT_EQ(service->tokenize(text, false, true)->size(), 1u);
  EXPECT_GT(service->tokenize(text, false, false)->size(), 1u);
  const SessionId parsed = *service->create_session(), plain = *service->create_session();
  EXPECT_TRUE(service->append_input(parsed, text, true));
  EXPECT_TRUE(service->append_input(plain, text));
  EXPECT_EQ(generate(*service, parsed, greedy(1)).finish.usage.prompt_tokens, 1u);
  EXPECT_GT(generate(*service, plain, greedy(1)).finish.usage.prompt_tokens, 1u);
}

TEST(Text, TokenizeAndDetokenizeAreInverse) {
  const auto service = load(load_options("tiny-qwen3"));
  for (const std::string text : {"", "plain", "Grüße 你好 🐎", "  spaces\n\ttabs  ", "nul \x01 byte"}) {
    EXPECT_EQ(service->detokenize(*service->tokenize(text, false, false)), text);
  }
}

// What is appended while a generation runs takes its part of the context.
TEST(Limits, AppendInFlightCannotPushASessionBeyondItsContext) {
  const auto service = load(load_options("tiny-llama"));
  const SessionId session = *service->create_session({.n_ctx = 100});
  ASSERT_TRUE(service->append_input(session, some_tokens(40)));
  HeldWorker held(*service, [session](const Views& views) { return view_of(views, session).generated >= 4; });
  auto stream = *service->generate_stream(session, endless(1000));
  held.views();
  ASSERT_TRUE(service->append_input(session, some_tokens(50, 2)));
  EXPECT_EQ(service->append_input(session, some_tokens(50, 2)).error().code, errc::context_full);
  held.let_go();
  const Answer answer = drain(stream);
  EXPECT_EQ(answer.finish.reason, FinishReason::context_full);
  EXPECT_EQ(answer.finish.usage.completion_tokens, 10u);
  ASSERT_TRUE(answer.finish.error);
  EXPECT_EQ(answer.finish.error->fact<ContextFull>()->n_past, 100u);
  EXPECT_EQ(view_of(service->sessions(), session).tokens, 100u);
}

TEST(Limits, AQueueWithoutALimitTakesGenerations) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.max_queue = 0xFFFFFFFF;
  EXPECT_EQ(options.max_under_way(), 0xFFFFFFFF);
  const auto service = load(options);
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(10)), endless(3)).tokens.size(), 3u);
}

// Building a grammar costs far more than a refusal: a flood of requests must not get that far.
TEST(Limits, AFullQueueRefusesBeforeAnythingIsBuilt) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.max_sequences = 1;
  options.max_queue = 0;
  const auto service = load(options);
  auto running = service->generate_stream(session_with(*service, "Hi"), greedy(0xFFFFFFFF));
  ASSERT_TRUE(running);
  GenerateOptions broken = greedy(1);
  broken.grammar.emplace().gbnf = "root ::= (";
  const SessionId second = session_with(*service, "Hi");
  const auto refused = service->generate_stream(second, broken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::queue_full);
  running->cancel();
  drain(*running);
  const auto invalid = service->generate_stream(second, broken);
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code, errc::invalid_argument);
  EXPECT_EQ(generate(*service, second, greedy(1)).tokens.size(), 1u) << "a refusal gives its place back";
}

}  // namespace
}  // namespace corral::engine::test
