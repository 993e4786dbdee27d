// Rule: guesses change how fast an answer comes, never what it says.
#include <gmock/gmock.h>

#include "engine/llama/model.h"
#include "engine/sample/sampler.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Guesses whatever they cost: a test must not depend on how fast the machine is just now.
SpeculativeOptions by_looking_up(std::uint32_t max_tokens = 8, std::optional<std::uint32_t> max_active = {}) {
  SpeculativeOptions options;
  options.max_tokens = max_tokens;
  options.max_active = max_active;
  options.measure = false;
  return options;
}

SpeculativeOptions by_model(const std::string& name) {
  return {.max_tokens = 8, .draft_path = model_path(name), .draft_probability = 0, .measure = false};
}

std::unique_ptr<InferenceEngine> load_speculating(const std::string& model, const SpeculativeOptions& drafts) {
  EngineLoadOptions options = load_options(model);
  options.speculative = drafts;
  return load(options);
}

// With everything in it that came out of a stream before.
WorkerStats stats(InferenceEngine& service) {
  generate(service, session_with(service, some_tokens(2, 9)), greedy(1));
  return service.stats().total();
}
std::uint64_t accepted(InferenceEngine& service) { return stats(service).accepted_tokens; }

// Three times the same passage, and its beginning once more.
std::vector<Token> repetitive() {
  const std::vector<Token> passage = some_tokens(40);
  return passage + passage + passage + some_tokens(10);
}

TEST(Speculative, GreedyAnswersAreTheSameWithGuesses) {
  std::uint64_t right = 0;
  for (const char* name : {"tiny-llama", "tiny-qwen3", "tiny-moe", "tiny-gemma3", "tiny-gpt-oss", "tiny-qwen2vl"}) {
    const Reference reference(name);
    const auto service = load_speculating(name, by_looking_up());
    // A small random model soon repeats itself.
    for (const auto& prompt : {repetitive(), some_tokens(30, 2)}) {
      const Answer answer = generate(*service, session_with(*service, prompt), endless(300));
      EXPECT_EQ(answer.tokens.size(), 300u);
      EXPECT_TRUE(reference.is_greedy(prompt, answer.tokens, true)) << name;
    }
    right += accepted(*service);
  }
  EXPECT_GT(right, 0u);
}

TEST(Speculative, ALoopTakesFewPassesAndTheAnswerSaysWhy) {
  const auto service = load_speculating("scripted-endless", by_looking_up());
  const Answer answer = generate(*service, session_with(*service, "go\n"), greedy(400));
  const Usage& usage = answer.finish.usage;
  const WorkerStats total = stats(*service);
  EXPECT_EQ(usage.completion_tokens, 400u);
  EXPECT_GT(usage.accepted_tokens, 200u);
  EXPECT_GE(usage.drafted_tokens, usage.accepted_tokens);
  EXPECT_EQ(total.accepted_tokens, usage.accepted_tokens);
  EXPECT_EQ(total.drafted_tokens, usage.drafted_tokens);
  EXPECT_GT(total.drafts, 0u);
  EXPECT_LE(total.drafts, total.steps);
  EXPECT_LT(total.drafts, total.drafted_tokens) << "some have several tokens";
  EXPECT_LT(total.steps, 200u);
}

TEST(Speculative, OffMeansNoGuesses) {
  const auto service = load_speculating("scripted-endless", by_looking_up(0));
  const Answer answer = generate(*service, session_with(*service, "go\n"), greedy(100));
  EXPECT_EQ(answer.finish.usage.drafted_tokens, 0u);
  EXPECT_GE(stats(*service).steps, 100u);
}

TEST(Speculative, NoGuessesBesideMoreThanMaxActive) {
  const auto service = load_speculating("scripted-endless", by_looking_up(8, 1));
  auto first = *service->generate_stream(session_with(*service, "go\n"), greedy(1'000'000));
  // Waits for the other to run, so all of its passes have two sessions.
  EXPECT_TRUE(first.next());
  const Answer second = generate(*service, session_with(*service, "go\n"), greedy(200));
  EXPECT_EQ(second.finish.usage.drafted_tokens, 0u);
  first.cancel();
  EXPECT_GT(generate(*service, session_with(*service, "go\n"), greedy(200)).finish.usage.accepted_tokens, 0u);
}

TEST(Speculative, SeveralSessionsAtOnceKeepTheirOwnAnswers) {
  const auto service = load_speculating("tiny-qwen3", by_looking_up(4, 16));
  const Reference reference("tiny-qwen3");
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 1; i <= 6; ++i)
    streams.push_back(*service->generate_stream(session_with(*service, some_tokens(20, i)), endless(150)));
  for (std::uint32_t i = 1; i <= 6; ++i)
    EXPECT_TRUE(reference.is_greedy(some_tokens(20, i), drain(streams[i - 1]).tokens, true)) << i;
  EXPECT_GT(accepted(*service), 0u);
}

TEST(Speculative, AloneInASplitLayout) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.kv_layout = KvLayout::split;
  options.max_sequences = 2;
  options.speculative = by_looking_up();
  const auto service = load(options);
  const Answer answer = generate(*service, session_with(*service, repetitive()), endless(300));
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(repetitive(), answer.tokens, true));
  EXPECT_GT(answer.finish.usage.accepted_tokens, 0u);
}

TEST(Speculative, ARecurrentModelGoesWithout) {
  for (const char* name : {"tiny-mamba", "tiny-jamba"})
    for (const SpeculativeOptions& drafts :
         {by_looking_up(), SpeculativeOptions{.max_tokens = 8, .draft_path = "none"}}) {
      const auto service = load_speculating(name, drafts);
      const Answer answer = generate(*service, session_with(*service, repetitive()), endless(50));
      EXPECT_TRUE(Reference(name).is_greedy(repetitive(), answer.tokens, true));
      EXPECT_EQ(answer.finish.usage.drafted_tokens, 0u);
    }
}

TEST(Speculative, ADraftModelOfTheSameWeightsIsNearlyAlwaysRight) {
  const auto service = load_speculating("tiny-llama", by_model("tiny-llama-q8_0"));
  const Answer answer = generate(*service, session_with(*service, some_tokens(200)), endless(300));
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(some_tokens(200), answer.tokens, true));
  EXPECT_GT(answer.finish.usage.accepted_tokens, 150u);
  EXPECT_GT(answer.finish.usage.accepted_tokens, answer.finish.usage.drafted_tokens * 7 / 10);
}

TEST(Speculative, ADraftModelThatIsMostlyWrongIsHardlyAsked) {
  const auto service = load_speculating("tiny-qwen3", by_model("tiny-llama-q8_0"));
  const Answer answer = generate(*service, session_with(*service, some_tokens(50)), endless(300));
  EXPECT_TRUE(Reference("tiny-qwen3").is_greedy(some_tokens(50), answer.tokens, true));
  EXPECT_GT(answer.finish.usage.drafted_tokens, 0u);
  EXPECT_LT(answer.finish.usage.drafted_tokens, 100u);
}

TEST(Speculative, GoesOnAfterADownsize) {
  for (const SpeculativeOptions& drafts : {by_looking_up(), by_model("tiny-llama-q8_0")}) {
    const auto service = load_speculating("tiny-llama", drafts);
    const SessionId session = session_with(*service, repetitive());
    const std::vector<Token> first = generate(*service, session, endless(60)).tokens;
    EXPECT_TRUE(service->downsize().done);
    const Answer second = generate(*service, session, endless(60));
    EXPECT_TRUE(Reference("tiny-llama").is_greedy(repetitive() + first, second.tokens, true));
    EXPECT_GT(second.finish.usage.accepted_tokens, 0u);
  }
}

TEST(Speculative, TooManyGuessesAreRefused) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.speculative.max_tokens = kMaxDraftTokens + 1;
  const auto service = InferenceEngine::load(options);
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().code, errc::invalid_argument);
  EXPECT_EQ(service.error().param, "speculative");
}

// Measuring what passes take makes it unknown how many guesses there are, but not what comes out.
TEST(Speculative, AnswersAreTheSameWhereGuessesMustPay) {
  SpeculativeOptions drafts = by_looking_up();
  drafts.measure = true;
  const auto service = load_speculating("tiny-moe", drafts);
  const Answer answer = generate(*service, session_with(*service, repetitive()), endless(300));
  EXPECT_TRUE(Reference("tiny-moe").is_greedy(repetitive(), answer.tokens, true));
}

// ---- every way an answer may end or be told what to say, in the middle of guesses that are right

// The same on a service with guesses and on one without. scripted-endless counts from one to twelve for ever.
class InMidDraft : public ::testing::Test {
 protected:
  Answer same(const GenerateOptions& options, const std::vector<Token>& prompt = {10}) {
    const Answer with = generate(*speculating_, session_with(*speculating_, prompt), options);
    const Answer without = generate(*plain_, session_with(*plain_, prompt), options);
    EXPECT_GT(with.finish.usage.accepted_tokens, 0u) << "nothing was guessed: the test is of no use";
    EXPECT_EQ(with.text, without.text);
    EXPECT_EQ(with.tokens, without.tokens);
    EXPECT_EQ(with.finish.reason, without.finish.reason);
    EXPECT_EQ(with.finish.stop_string, without.finish.stop_string);
    EXPECT_EQ(with.finish.usage.completion_tokens, without.finish.usage.completion_tokens);
    return with;
  }
  const std::unique_ptr<InferenceEngine> speculating_ = load_speculating("scripted-endless", by_looking_up());
  const std::unique_ptr<InferenceEngine> plain_ = load(load_options("scripted-endless"));
};

TEST_F(InMidDraft, MaxNewTokens) {
  for (std::uint32_t max = 60; max < 76; ++max) EXPECT_EQ(same(greedy(max)).tokens.size(), max);
}

TEST_F(InMidDraft, StopStrings) {
  // The prompt holds rounds of the answer, so that the first guesses are good ones.
  const std::vector<Token> rounds = generate(*plain_, session_with(*plain_, "go\n"), greedy(90)).tokens;
  for (const char* stop : {"eleven twelve one two three", "six s", "ten eleven t"}) {
    GenerateOptions options = greedy(1000);
    options.stop = {stop};
    EXPECT_EQ(same(options, rounds).finish.reason, FinishReason::stop) << stop;
  }
}

TEST_F(InMidDraft, TurnsThatEndWithStopStrings) {
  const auto turns = [](InferenceEngine& service) {
    const SessionId session = session_with(service, "go\n");
    std::vector<std::string> texts = {generate(service, session, greedy(80)).text};
    for (int turn = 0; turn < 12; ++turn) {
      GenerateOptions options = greedy(25);
      options.stop = {turn % 2 == 0 ? "four five" : "ten el"};
      texts.push_back(generate(service, session, options).text);
      EXPECT_TRUE(service.append_input(session, some_tokens(turn % 3)));
    }
    return texts;
  };
  EXPECT_EQ(turns(*speculating_), turns(*plain_));
  EXPECT_GT(accepted(*speculating_), 0u);
}

TEST_F(InMidDraft, CancelAndGoOn) {
  const SessionId session = session_with(*speculating_, "go\n");
  std::vector<Token> tokens;
  while (tokens.size() < 400) {
    auto stream = *speculating_->generate_stream(session, greedy(1'000'000));
    const auto chunk = stream.next();
    ASSERT_TRUE(chunk);
    tokens.insert(tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    stream.cancel();
    const Answer rest = drain(stream);
    EXPECT_EQ(rest.finish.reason, FinishReason::cancelled);
    tokens.insert(tokens.end(), rest.tokens.begin(), rest.tokens.end());
  }
  // Each of those may have been too short for a guess.
  const Answer last = generate(*speculating_, session, greedy(100));
  tokens.insert(tokens.end(), last.tokens.begin(), last.tokens.end());
  EXPECT_GT(accepted(*speculating_), 0u);
  const auto all = static_cast<std::uint32_t>(tokens.size());
  EXPECT_EQ(tokens, generate(*plain_, session_with(*plain_, "go\n"), greedy(all)).tokens);
}

TEST_F(InMidDraft, ASlowReaderLosesNothing) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.speculative = by_looking_up();
  options.stream_tokens = 4;
  const auto service = load(options);
  auto stream = *service->generate_stream(session_with(*service, "go\n"), greedy(300));
  const Answer answer = drain(stream);
  EXPECT_EQ(answer.tokens, generate(*plain_, session_with(*plain_, "go\n"), greedy(300)).tokens);
  for (const StreamChunk& chunk : answer.chunks) EXPECT_LE(chunk.tokens.size(), 4u);
  EXPECT_GT(answer.finish.usage.accepted_tokens, 0u);
}

// With a part for each, all have equally many rows: where one has no guess, or fewer, padding rows stand for them.
TEST_F(InMidDraft, SideBySideInASplitLayout) {
  EngineLoadOptions options = load_options("scripted-endless");
  options.kv_layout = KvLayout::split;
  options.max_sequences = 3;
  options.n_ctx = 1536;
  options.speculative = by_looking_up();
  const auto service = load(options);
  // The first knows from the beginning how it goes on, the others learn it one after another.
  const std::vector<Token> rounds = generate(*plain_, session_with(*plain_, "go\n"), greedy(90)).tokens;
  const std::vector<std::vector<Token>> prompts = {rounds, {rounds.begin(), rounds.begin() + 40}, {10}};
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < 3; ++i)
    streams.push_back(*service->generate_stream(session_with(*service, prompts[i]), greedy(150 + 40 * i)));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Answer answer = drain(streams[i]);
    EXPECT_EQ(answer.tokens, generate(*plain_, session_with(*plain_, prompts[i]), greedy(150 + 40 * i)).tokens) << i;
    EXPECT_GT(answer.finish.usage.accepted_tokens, 50u) << i;
  }
}

TEST_F(InMidDraft, Logprobs) {
  GenerateOptions options = greedy(150);
  options.n_probs = 3;
  const Answer with = same(options);
  const Answer without = generate(*plain_, session_with(*plain_, "go\n"), options);
  ASSERT_EQ(with.logprobs.size(), with.tokens.size());
  ASSERT_EQ(without.logprobs.size(), with.tokens.size());
  for (std::size_t i = 0; i < with.logprobs.size(); ++i) {
    EXPECT_EQ(with.logprobs[i].token, with.tokens[i]);
    EXPECT_EQ(with.logprobs[i].top.size(), 3u);
    EXPECT_NEAR(with.logprobs[i].logprob, without.logprobs[i].logprob, 0.01) << i;
  }
}

TEST_F(InMidDraft, AGrammarThatEndsTheAnswer) {
  GenerateOptions options = greedy(1000);
  options.grammar.emplace().gbnf =
      R"(root ::= "Counting:" line line line line " one two three" [.]
line ::= " one two three four five six seven eight nine ten eleven twelve")";
  const Answer answer = same(options);
  EXPECT_EQ(answer.finish.reason, FinishReason::stop);
  EXPECT_THAT(answer.text, StartsWith("Counting: one two three"));
  EXPECT_THAT(answer.text, HasSubstr("twelve one two three."));
}

// With every token drawn once, in order, with the random numbers of the seed: also where the guess was right.
TEST(Speculative, SeededSamplingDrawsAsWithoutGuesses) {
  const auto service = load_speculating("tiny-llama", by_looking_up());
  GenerateOptions options;
  options.max_new_tokens = 400;
  options.sampling.temperature = 1;
  options.sampling.seed = 5;
  // A vocabulary of two makes much of the answer guessable.
  for (Token token = 0; token < static_cast<Token>(service->facts().n_vocab); ++token) {
    if (token != 100 && token != 101) options.sampling.logit_bias.push_back({token, -INFINITY});
  }
  options.sampling.logit_bias.push_back({100, 2});
  const Answer answer = generate(*service, session_with(*service, some_tokens(20)), options);
  ASSERT_EQ(answer.tokens.size(), 400u);
  EXPECT_GT(answer.finish.usage.accepted_tokens, 0u);
  EXPECT_LT(answer.finish.usage.accepted_tokens, answer.finish.usage.drafted_tokens);

  const auto model = Model::load(load_options("tiny-llama"), {});
  const auto sampler = Sampler::make(**model, options.sampling, std::nullopt, 2048);
  (*sampler)->prime(some_tokens(20));
  std::size_t i = 0, different = 0;
  EXPECT_TRUE(Reference("tiny-llama").each_logits(some_tokens(20), answer.tokens, [&](const float* logits) {
    const Result<Token> token = (*sampler)->sample(logits);
    different += token && *token == answer.tokens[i++] ? 0 : 1;
  }));
  EXPECT_LT(different, 20u);  // draws that fall between two roundings
}

}  // namespace
}  // namespace corral::engine::test
