#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "engine/sample/sampler.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

GenerateOptions seeded(std::uint32_t seed, std::uint32_t max_new_tokens = 40) {
  GenerateOptions options;
  options.max_new_tokens = max_new_tokens;
  options.sampling.seed = seed;
  options.sampling.ignore_eos = true;
  return options;
}

// Two runs of the same request compute the same passes: nothing of the first is reused by the second.
EngineLoadOptions alike(const std::string& model) {
  EngineLoadOptions options = load_options(model);
  options.prefix_cache_tokens = 0;
  return options;
}

TEST(Sampling, ASeedGivesTheSameTextAgainAndAnotherSeedAnother) {
  const auto service = load(alike("tiny-llama"));
  const auto tokens_with = [&](std::uint32_t seed) {
    return generate(*service, session_with(*service, some_tokens(20)), seeded(seed)).tokens;
  };
  const std::vector<Token> first = tokens_with(42);
  EXPECT_EQ(tokens_with(42), first);
  EXPECT_NE(tokens_with(43), first);
}

TEST(Sampling, ASeedGivesTheSameTextAmongOthers) {
  EngineLoadOptions load_with = alike("tiny-llama");
  load_with.flash_attention = Toggle::off;  // whose rounding depends on how many tokens a pass has
  const auto service = load(load_with);
  const std::vector<Token> alone = generate(*service, session_with(*service, some_tokens(20)), seeded(42, 20)).tokens;
  std::vector<StreamHandle> others;
  for (std::uint32_t i = 0; i < 7; ++i)
    others.push_back(*service->generate_stream(session_with(*service, some_tokens(20, i)), seeded(i, 20)));
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), seeded(42, 20)).tokens, alone);
}

TEST(Sampling, WithoutASeedItIsRandom) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = seeded(0);
  options.sampling.seed.reset();
  options.sampling.temperature = 2;
  EXPECT_NE(generate(*service, session_with(*service, some_tokens(20)), options).tokens,
            generate(*service, session_with(*service, some_tokens(20)), options).tokens);
}

// The short cut for greedy decoding and the chain at temperature 0 are the same thing.
TEST(Sampling, ShortCutEqualsTheChain) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions chain = endless(60);
  chain.sampling.logit_bias = {{5, 0.0f}};
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), chain).tokens,
            generate(*service, session_with(*service, some_tokens(20)), endless(60)).tokens);
}

TEST(Sampling, BiasForbidsAndForces) {
  const auto service = load(alike("tiny-llama"));
  const std::vector<Token> plain = generate(*service, session_with(*service, some_tokens(20)), endless(1)).tokens;
  GenerateOptions options = endless(1);
  options.sampling.logit_bias = {{plain[0], -std::numeric_limits<float>::infinity()}};
  EXPECT_NE(generate(*service, session_with(*service, some_tokens(20)), options).tokens, plain);
  options = endless(3);
  options.sampling.logit_bias = {{77, 100.0f}};
  EXPECT_THAT(generate(*service, session_with(*service, some_tokens(20)), options).tokens, ::testing::Each(77));
}

TEST(Sampling, PenaltiesLookBackIntoThePrompt) {
  const auto service = load(alike("tiny-llama"));
  const std::vector<Token> prompt = some_tokens(20);
  const Token next = generate(*service, session_with(*service, prompt), endless(1)).tokens[0];
  GenerateOptions options = endless(1);
  options.sampling.presence_penalty = 1000;
  // The same continuation is penalised away if it stands in the prompt.
  const std::vector<Token> seen = std::vector<Token>{next} + prompt;
  const Token unpenalised = generate(*service, session_with(*service, seen), endless(1)).tokens[0];
  const Token penalised = generate(*service, session_with(*service, seen), options).tokens[0];
  EXPECT_EQ(std::ranges::count(seen, penalised), 0);
  if (std::ranges::count(seen, unpenalised) > 0) EXPECT_NE(penalised, unpenalised);
}

// A file may say -1 for "the whole context", and once every request to it failed.
TEST(Sampling, AFileMayLookBackOverTheWholeContext) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_meta("tiny-llama", "looks-back", [](gguf_context* to) {
    gguf_set_val_i32(to, "general.sampling.penalty_last_n", -1);
    gguf_set_val_f32(to, "general.sampling.penalty_repeat", 1.1f);
  });
  const auto service = load(options);
  EXPECT_EQ(service->default_sampling().penalty_last_n, -1);
  GenerateOptions generation = seeded(1, 10);
  generation.sampling.penalty_last_n = service->default_sampling().penalty_last_n;
  generation.sampling.repeat_penalty = service->default_sampling().repeat_penalty;
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), generation).tokens.size(), 10u);
}

// A file may bring an order of samplers; what has a name that nobody knows is left out.
TEST(Sampling, AFileMaySayTheOrder) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.path = with_meta("tiny-llama", "order", [](gguf_context* to) {
    gguf_set_val_str(to, "general.sampling.sequence", "temperature;no_such;top-k");
  });
  EXPECT_THAT(load(options)->default_sampling().samplers,
              ::testing::ElementsAre(SamplerKind::temperature, SamplerKind::top_k));
}

TEST(Sampling, GrammarIsFollowed) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = greedy(50);
  options.grammar = GrammarOptions{.gbnf = R"(root ::= "yes" | "no" [0-9]+ "!")",
                                   .lazy = false,
                                   .trigger_patterns = {},
                                   .trigger_tokens = {},
                                   .prefill = {}};
  const std::string text = generate(*service, session_with(*service, some_tokens(20)), options).text;
  EXPECT_THAT(text, ::testing::AnyOf("yes", ::testing::StartsWith("no")));
  options.sampling.temperature = 1;
  options.sampling.seed = 3;
  EXPECT_THAT(generate(*service, session_with(*service, some_tokens(20)), options).text,
              ::testing::AnyOf("yes", ::testing::StartsWith("no")));
}

TEST(Sampling, LazyGrammarWaitsForItsTrigger) {
  const auto service = load(load_options("scripted-hello"));
  GenerateOptions options = greedy(100);
  options.grammar = GrammarOptions{.gbnf = R"(root ::= "scripted" "!!")",
                                   .lazy = true,
                                   .trigger_patterns = {"[\\s\\S]*?(scripted)[\\s\\S]*"},
                                   .trigger_tokens = {},
                                   .prefill = {}};
  const Answer answer = generate(*service, session_with(*service, "Hi\n"), options);
  EXPECT_EQ(answer.text, "Hello! I am a scripted!!");
}

// The line that is being written is still finished; where no line ends, nothing does.
TEST(Sampling, ATimeLimitEndsTheAnswerWithItsLine) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = endless(1500);
  options.max_predict = Millis(1);  // 1,500 tokens take longer anywhere
  options.grammar.emplace().gbnf = R"(root ::= ("a" "\n")+)";
  const Answer lines = generate(*service, session_with(*service, some_tokens(20)), options);
  EXPECT_EQ(lines.finish.reason, FinishReason::length);
  EXPECT_LT(lines.tokens.size(), 1500u);
  EXPECT_TRUE(lines.text.ends_with("a\n"));
  options.grammar->gbnf = R"(root ::= "a"+)";
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).tokens.size(), 1500u);
}

// The last of each chunk: as many tokens as have come until then.
TEST(Sampling, ChunksSayHowFarTheyAre) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = endless(20);
  EXPECT_FALSE(generate(*service, session_with(*service, some_tokens(20)), options).chunks.front().progress);
  options.progress = true;
  const Answer answer = generate(*service, session_with(*service, some_tokens(20)), options);
  std::uint32_t tokens = 0;
  for (const StreamChunk& chunk : answer.chunks) {
    if (chunk.finish) continue;
    tokens += static_cast<std::uint32_t>(chunk.tokens.size());
    ASSERT_TRUE(chunk.progress);
    EXPECT_GE(chunk.progress->usage.completion_tokens, tokens);  // some may be held back as half a character
    EXPECT_EQ(chunk.progress->usage.prompt_tokens, 20u);
  }
  EXPECT_EQ(tokens, 20u);
}

TEST(Sampling, LogprobsAreOfTheRawDistribution) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = endless(5);
  options.n_probs = 4;
  const Answer answer = generate(*service, session_with(*service, some_tokens(20)), options);
  ASSERT_EQ(answer.logprobs.size(), answer.tokens.size());
  for (std::size_t i = 0; i < answer.tokens.size(); ++i) {
    const TokenLogprob& entry = answer.logprobs[i];
    EXPECT_EQ(entry.token, answer.tokens[i]);
    EXPECT_EQ(entry.piece, service->piece(entry.token, true));
    ASSERT_EQ(entry.top.size(), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(entry.top, std::greater<>{}, &TopToken::logprob));
    EXPECT_LE(entry.top[0].logprob, 0);
    double sum = 0;
    for (const TopToken& top : entry.top) sum += std::exp(top.logprob);
    EXPECT_LE(sum, 1.0 + 1e-5);
  }
  options.n_probs = 1'000'000;  // more than there are
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).logprobs[0].top.size(),
            service->facts().n_vocab);
}

// After sampling: what the token was drawn from, so the token is one of the few that were left, and they are all there
// is.
TEST(Sampling, ProbabilitiesAfterSamplingAreThoseOfTheChain) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = seeded(5, 20);
  options.sampling.top_k = 3;
  options.sampling.temperature = 2;
  options.n_probs = 10;
  options.post_sampling_probs = true;
  const Answer answer = generate(*service, session_with(*service, some_tokens(20)), options);
  ASSERT_EQ(answer.logprobs.size(), answer.tokens.size());
  for (std::size_t i = 0; i < answer.tokens.size(); ++i) {
    const TokenLogprob& entry = answer.logprobs[i];
    EXPECT_EQ(entry.token, answer.tokens[i]);
    EXPECT_LE(entry.top.size(), 3u);
    EXPECT_TRUE(std::ranges::is_sorted(entry.top, std::greater<>{}, &TopToken::logprob));
    const auto chosen = std::ranges::find(entry.top, entry.token, &TopToken::token);
    ASSERT_NE(chosen, entry.top.end());
    EXPECT_EQ(chosen->logprob, entry.logprob);
    double sum = 0;
    for (const TopToken& top : entry.top) sum += std::exp(top.logprob);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  options.post_sampling_probs = false;
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).tokens, answer.tokens)
      << "asking for probabilities changed the answer";

  GenerateOptions certain = endless(3);
  certain.n_probs = 10;
  certain.post_sampling_probs = true;
  for (const bool short_cut : {true, false}) {
    if (!short_cut) certain.sampling.logit_bias = {{5, 0.0f}};  // the chain, at temperature 0
    for (const TokenLogprob& entry : generate(*service, session_with(*service, some_tokens(20)), certain).logprobs) {
      EXPECT_EQ(entry.logprob, 0);
      ASSERT_EQ(entry.top.size(), 1u);
      EXPECT_EQ(entry.top[0].token, entry.token);
    }
  }
}

TEST(Sampling, WhatWouldAbortLibllamaIsRefused) {
  const auto service = load(alike("tiny-llama"));
  const SessionId session = session_with(*service, some_tokens(5));
  const auto refused = [&](const GenerateOptions& options) {
    const auto stream = service->generate_stream(session, options);
    EXPECT_FALSE(stream);
    if (stream) return std::string("accepted");
    EXPECT_EQ(stream.error().code, errc::invalid_argument);
    return stream.error().param;
  };
  const auto with = [](auto change) {
    GenerateOptions options = greedy(1);
    change(options);
    return options;
  };
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.temperature = NAN; })), "temperature");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.repeat_penalty = 0; })), "repeat_penalty");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.frequency_penalty = INFINITY; })), "frequency_penalty");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.mirostat = 3; })), "mirostat");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.min_keep = -1; })), "min_keep");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.adaptive_target = 2; })), "adaptive_target");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.adaptive_decay = 1; })), "adaptive_decay");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.logit_bias = {{-5, 1.0f}}; })), "logit_bias");
  EXPECT_EQ(refused(with([](auto& o) { o.sampling.logit_bias = {{1 << 30, 1.0f}}; })), "logit_bias");
  const auto grammar = [&](std::string gbnf) {
    return with([&](auto& o) { o.grammar.emplace().gbnf = std::move(gbnf); });
  };
  EXPECT_EQ(refused(grammar("root ::= (")), "grammar");
  EXPECT_EQ(refused(grammar("start ::= \"a\"")), "grammar");
  EXPECT_EQ(refused(grammar("root ::= undefined")), "grammar");
  EXPECT_EQ(refused(grammar("root ::= root \"a\"")), "grammar");
  EXPECT_EQ(refused(with([](auto& o) {
              o.grammar.emplace().gbnf = "root ::= \"a\"";
              o.grammar->lazy = true;
              o.grammar->trigger_patterns = {"(unclosed"};
            })),
            "grammar_triggers");
  EXPECT_EQ(generate(*service, session, greedy(1)).tokens.size(), 1u) << "the session must not be busy after a refusal";
}

TEST(Sampling, EveryOptionAtOnceStillAnswers) {
  const auto service = load(alike("tiny-llama"));
  GenerateOptions options = seeded(1, 30);
  SamplingOptions& s = options.sampling;
  s.top_n_sigma = 1.5f;
  s.typical_p = 0.9f;
  s.xtc_probability = 0.5f;
  s.dynatemp_range = 0.3f;
  s.repeat_penalty = 1.1f;
  s.frequency_penalty = 0.1f;
  s.presence_penalty = 0.1f;
  s.dry_multiplier = 0.8f;
  s.min_keep = 2;
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).tokens.size(), 30u);
  s.samplers.push_back(SamplerKind::adaptive_p);
  s.adaptive_target = 0.3f;
  EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).tokens.size(), 30u);
  for (const int mirostat : {1, 2}) {
    s.mirostat = mirostat;
    EXPECT_EQ(generate(*service, session_with(*service, some_tokens(20)), options).tokens.size(), 30u);
  }
}

}  // namespace
}  // namespace corral::engine::test
