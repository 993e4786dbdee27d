// Rule: no token is lost between turns. What a session goes on with is the greedy continuation of its whole history:
// all that was appended and all that its streams reported, in order.
#include <algorithm>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

class Turns : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Turns,
                         ::testing::Values("tiny-llama", "tiny-qwen3", "tiny-moe", "tiny-mamba", "tiny-jamba",
                                           "tiny-gemma3", "tiny-gpt-oss", "tiny-llama-q8_0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(Turns, FirstTurnIsTheGreedyContinuation) {
  const auto service = load(load_options(GetParam()));
  const Answer answer = generate(*service, session_with(*service, some_tokens(30)), greedy(60));
  EXPECT_TRUE(Reference(GetParam()).is_greedy(some_tokens(30), answer.tokens));
}

TEST_P(Turns, AfterALengthStop) {
  const auto service = load(load_options(GetParam()));
  const Reference reference(GetParam());
  const SessionId session = session_with(*service, some_tokens(30));
  std::vector<Token> history = some_tokens(30);
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    const Answer answer = generate(*service, session, endless(9));
    EXPECT_TRUE(reference.is_greedy(history, answer.tokens, true)) << "turn " << turn;
    EXPECT_EQ(answer.finish.usage.prompt_tokens, history.size());
    history = history + answer.tokens;
    if (turn % 2 == 1) continue;  // a turn without new input just goes on
    EXPECT_TRUE(service->append_input(session, some_tokens(5, turn + 2)));
    history = history + some_tokens(5, turn + 2);
  }
}

TEST_P(Turns, AfterAStopString) {
  EngineLoadOptions alike = load_options(GetParam());
  alike.prefix_cache_tokens = 0;  // both runs compute the same passes
  const auto service = load(alike);
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(30);
  // A stop string from the middle of what comes anyway, so that it is met across tokens.
  const std::vector<Token> plain = generate(*service, session_with(*service, prompt), endless(24)).tokens;
  const std::string ahead = service->detokenize(plain);
  GenerateOptions options = endless(24);
  options.stop = {ahead.substr(ahead.size() / 2, 7)};
  const SessionId session = session_with(*service, prompt);
  const Answer first = generate(*service, session, options);
  EXPECT_EQ(first.finish.reason, FinishReason::stop);
  EXPECT_EQ(first.finish.stop_string, options.stop[0]);
  EXPECT_EQ(first.text, ahead.substr(0, ahead.find(options.stop[0])));
  ASSERT_LT(first.tokens.size(), plain.size());
  EXPECT_TRUE(std::equal(first.tokens.begin(), first.tokens.end(), plain.begin()));

  const std::vector<Token> more = some_tokens(4, 9);
  EXPECT_TRUE(service->append_input(session, more));
  const Answer second = generate(*service, session, endless(10));
  EXPECT_TRUE(reference.is_greedy(prompt + first.tokens + more, second.tokens, true));
}

TEST_P(Turns, AfterAStopStringWithoutNewInput) {
  EngineLoadOptions alike = load_options(GetParam());
  alike.prefix_cache_tokens = 0;  // both runs compute the same passes
  const auto service = load(alike);
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(30);
  const std::vector<Token> plain = generate(*service, session_with(*service, prompt), endless(24)).tokens;
  const std::string ahead = service->detokenize(plain);
  GenerateOptions options = endless(24);
  options.stop = {ahead.substr(ahead.size() / 2, 3)};
  const SessionId session = session_with(*service, prompt);
  const Answer first = generate(*service, session, options);
  EXPECT_EQ(first.finish.reason, FinishReason::stop);
  EXPECT_TRUE(reference.is_greedy(prompt + first.tokens, generate(*service, session, endless(10)).tokens, true));
}

TEST_P(Turns, AfterACancel) {
  const auto service = load(load_options(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(30), more = some_tokens(4, 9);
  const SessionId session = session_with(*service, prompt);
  auto stream = *service->generate_stream(session, endless(1000));
  const auto begin = stream.next();
  ASSERT_TRUE(begin);
  stream.cancel();
  const Answer rest = drain(stream);
  EXPECT_EQ(rest.finish.reason, FinishReason::cancelled);
  EXPECT_TRUE(service->append_input(session, more));
  const Answer second = generate(*service, session, endless(10));
  EXPECT_TRUE(reference.is_greedy(prompt + begin->tokens + rest.tokens + more, second.tokens, true));
}

TEST_P(Turns, AppendInFlightComesBehindTheAnswer) {
  const auto service = load(load_options(GetParam()));
  const Reference reference(GetParam());
  const std::vector<Token> prompt = some_tokens(30), more = some_tokens(4, 9), last = some_tokens(3, 11);
  const SessionId session = session_with(*service, prompt);
  auto stream = *service->generate_stream(session, endless(50));
  EXPECT_TRUE(service->append_input(session, more));
  EXPECT_TRUE(service->append_input(session, last));
  const Answer first = drain(stream);
  EXPECT_TRUE(reference.is_greedy(prompt, first.tokens, true));
  EXPECT_TRUE(
      reference.is_greedy(prompt + first.tokens + more + last, generate(*service, session, endless(10)).tokens, true));
}

TEST_P(Turns, CacheOfASessionIsUsedInItsNextTurn) {
  const auto service = load(load_options(GetParam()));
  const SessionId session = session_with(*service, some_tokens(100));
  const Answer first = generate(*service, session, endless(10));
  EXPECT_EQ(first.finish.usage.cached_tokens, 0u);
  EXPECT_TRUE(service->append_input(session, some_tokens(5, 3)));
  const Answer second = generate(*service, session, endless(10));
  EXPECT_EQ(second.finish.usage.prompt_tokens, 115u);
  EXPECT_EQ(second.finish.usage.cached_tokens, 109u);  // all but the last sampled token and the new ones
}

TEST(Turns, TheEndTokenBelongsToTheHistory) {
  const auto service = load(load_options("scripted-hello"));
  const Reference reference("scripted-hello");
  const auto prompt = *service->tokenize("Hi\n", true, false), more = *service->tokenize("\nand\n", false, false);
  const SessionId session = session_with(*service, prompt);
  const Answer first = generate(*service, session, greedy(100));
  EXPECT_EQ(first.finish.reason, FinishReason::stop);
  EXPECT_TRUE(service->append_input(session, more));
  EXPECT_TRUE(reference.is_greedy(prompt + first.tokens + more, generate(*service, session, greedy(10)).tokens));
}

}  // namespace
}  // namespace corral::engine::test
