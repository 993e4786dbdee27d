// The sampler against libllama's own chain over the whole vocabulary, built here by hand.
#include "engine/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

class WholeChain {
 public:
  WholeChain(const llama_vocab* vocab, std::int32_t n_vocab, const SamplingOptions& o) : n_vocab_(n_vocab) {
    const auto add = [&](llama_sampler* one) { llama_sampler_chain_add(chain_.get(), one); };
    std::vector<llama_logit_bias> biases;
    for (const LogitBias& bias : o.logit_bias) biases.push_back({bias.token, bias.bias});
    const auto keep = static_cast<std::size_t>(o.min_keep);
    add(llama_sampler_init_logit_bias(n_vocab, static_cast<std::int32_t>(biases.size()), biases.data()));
    std::vector<const char*> breakers;
    for (const std::string& text : o.dry_sequence_breakers) breakers.push_back(text.c_str());
    const auto step = [&](SamplerKind kind) -> llama_sampler* {
      switch (kind) {
        case SamplerKind::penalties:
          return llama_sampler_init_penalties(n_vocab, o.penalty_last_n, o.repeat_penalty, o.frequency_penalty,
                                              o.presence_penalty);
        case SamplerKind::dry:
          return llama_sampler_init_dry(vocab, o.dry_multiplier, o.dry_base, o.dry_allowed_length, o.dry_penalty_last_n,
                                        breakers.data(), breakers.size());
        case SamplerKind::top_n_sigma:
          return llama_sampler_init_top_n_sigma(o.top_n_sigma);
        case SamplerKind::top_k:
          return llama_sampler_init_top_k(o.top_k);
        case SamplerKind::typical_p:
          return llama_sampler_init_typical(o.typical_p, keep);
        case SamplerKind::top_p:
          return llama_sampler_init_top_p(o.top_p, keep);
        case SamplerKind::min_p:
          return llama_sampler_init_min_p(o.min_p, keep);
        case SamplerKind::xtc:
          return llama_sampler_init_xtc(o.xtc_probability, o.xtc_threshold, keep, *o.seed);
        case SamplerKind::temperature:
          return llama_sampler_init_temp_ext(o.temperature, o.dynatemp_range, o.dynatemp_exponent);
        case SamplerKind::adaptive_p:
          break;
      }
      return nullptr;
    };
    bool adaptive = false;
    for (const SamplerKind kind : o.samplers) {
      adaptive |= kind == SamplerKind::adaptive_p;
      if (kind != SamplerKind::adaptive_p) add(step(kind));
    }
    add(adaptive ? llama_sampler_init_adaptive_p(o.adaptive_target, o.adaptive_decay, *o.seed)
                 : llama_sampler_init_dist(*o.seed));
  }

  void prime(const std::vector<Token>& history) {
    for (const Token token : history) llama_sampler_accept(chain_.get(), token);
  }
  Token sample(const std::vector<float>& logits) {
    std::vector<llama_token_data> all;
    for (Token token = 0; token < n_vocab_; ++token) all.push_back({token, logits[static_cast<std::size_t>(token)], 0});
    llama_token_data_array array{all.data(), all.size(), -1, false};
    llama_sampler_apply(chain_.get(), &array);
    const Token token = array.data[array.selected].id;
    llama_sampler_accept(chain_.get(), token);
    return token;
  }

 private:
  std::int32_t n_vocab_;
  std::unique_ptr<llama_sampler, decltype(&llama_sampler_free)> chain_{
      llama_sampler_chain_init(llama_sampler_chain_default_params()), llama_sampler_free};
};

SamplingOptions random_options(std::mt19937& random, std::uint32_t n_vocab) {
  const auto chance = [&](std::uint32_t percent) { return random() % 100 < percent; };
  const auto between = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 1001) / 1000;
  };
  SamplingOptions o;
  o.seed = static_cast<std::uint32_t>(random());
  o.temperature = chance(15) ? 0 : between(0.1f, 2);
  o.top_k = chance(10) ? 0 : static_cast<std::int32_t>(1 + random() % (chance(20) ? n_vocab : 200));
  o.top_p = chance(30) ? 1 : between(0, 1);
  o.min_p = chance(30) ? 0 : between(0, 0.3f);
  if (chance(20)) o.typical_p = between(0.2f, 1);
  if (chance(10)) o.top_n_sigma = between(0.5f, 3);
  if (chance(20)) o.xtc_probability = between(0, 1);
  if (chance(20)) o.dynatemp_range = between(0, 0.5f);
  if (chance(20)) o.min_keep = static_cast<std::int32_t>(random() % 5);
  if (chance(50)) o.repeat_penalty = between(0.8f, 1.5f);
  if (chance(30)) o.frequency_penalty = between(-1, 1);
  if (chance(30)) o.presence_penalty = between(-1, 1);
  o.penalty_last_n = static_cast<std::int32_t>(random() % 80);
  if (chance(30)) o.dry_multiplier = between(0.1f, 2);
  o.dry_penalty_last_n = static_cast<std::int32_t>(random() % 80);
  for (auto count = chance(40) ? random() % 60 : 0; count > 0; --count) {
    const auto token = static_cast<Token>(random() % n_vocab);
    o.logit_bias.push_back({token, chance(30) ? -std::numeric_limits<float>::infinity() : between(-5, 5)});
    if (chance(10)) o.logit_bias.push_back({token, between(-5, 5)});
  }
  if (chance(50)) {  // another order, with steps left out
    std::ranges::shuffle(o.samplers, random);
    o.samplers.resize(random() % (o.samplers.size() + 1));
  }
  if (chance(20)) {
    o.samplers.insert(o.samplers.begin(), SamplerKind::adaptive_p);
    o.adaptive_target = chance(30) ? -1 : between(0, 1);
    o.adaptive_decay = between(0, 0.99f);
  }
  return o;
}

TEST(Sampler, EqualsTheChainOverTheWholeVocabulary) {
  const auto service = load(load_options("tiny-llama"));
  const std::uint32_t n_vocab = 4000;  // so that most short lists are short
  ASSERT_LT(service->facts().n_vocab, n_vocab);
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 600; ++round) {
    const SamplingOptions options = random_options(random, n_vocab);
    const auto sampler =
        Sampler::make({.n_vocab = n_vocab, .vocab = service->vocab(), .end_tokens = {}}, options, nullptr, 4096);
    ASSERT_TRUE(sampler) << sampler.error().message;
    WholeChain reference(service->vocab(), static_cast<std::int32_t>(n_vocab), options);
    std::vector<Token> history;
    // Few different ones, so that they repeat.
    for (auto count = random() % 120; count > 0; --count) history.push_back(static_cast<Token>(random() % 30));
    (*sampler)->prime(history);
    reference.prime(history);
    std::vector<float> logits(n_vocab);
    for (int step = 0; step < 12; ++step) {
      for (float& logit : logits) logit = normal(random) * 3;
      for (Token token = 0; token < 30; ++token) logits[static_cast<std::size_t>(token)] += 6;
      if (round % 2 == 0) {  // equals everywhere
        for (float& logit : logits) logit = std::round(logit * 4) / 4;
      }
      const auto token = (*sampler)->sample(logits.data());
      ASSERT_TRUE(token) << token.error().message;
      ASSERT_EQ(*token, reference.sample(logits)) << "round " << round << ", step " << step;
    }
  }
}

// Each option does nothing where its step isn't in the order, and something where it is.
TEST(Sampler, StepsThatAreLeftOutHaveNoPart) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  std::vector<float> logits(vocab.n_vocab);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = -0.001f * static_cast<float>(i);
  const auto drawn = [&](SamplingOptions options, std::vector<SamplerKind> samplers) {
    options.samplers = std::move(samplers);
    options.seed = 1;
    const auto sampler = Sampler::make(vocab, options, nullptr, 100);
    EXPECT_TRUE(sampler);
    (*sampler)->prime(std::vector<Token>(10, 0));
    std::vector<Token> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(*(*sampler)->sample(logits.data()));
    return tokens;
  };
  SamplingOptions nothing;
  nothing.temperature = 1;
  const auto everything = drawn(nothing, {});
  EXPECT_GT(*std::ranges::max_element(everything), 500);
  struct Row {
    SamplerKind kind;
    void (*set)(SamplingOptions&);
  };
  const Row rows[] = {
      {SamplerKind::penalties, [](SamplingOptions& o) { o.presence_penalty = 3; }},
      {SamplerKind::top_n_sigma, [](SamplingOptions& o) { o.top_n_sigma = 0.5f; }},
      {SamplerKind::top_k, [](SamplingOptions& o) { o.top_k = 5; }},
      {SamplerKind::typical_p, [](SamplingOptions& o) { o.typical_p = 0.1f; }},
      {SamplerKind::top_p, [](SamplingOptions& o) { o.top_p = 0.1f; }},
      {SamplerKind::min_p, [](SamplingOptions& o) { o.min_p = 0.9f; }},
      {SamplerKind::temperature, [](SamplingOptions& o) { o.temperature = 0.01f; }},
      {SamplerKind::adaptive_p, [](SamplingOptions& o) { o.adaptive_target = 0.5f; }},
  };
  for (const Row& row : rows) {
    SamplingOptions options = nothing;
    row.set(options);
    EXPECT_EQ(drawn(options, {}), everything) << static_cast<int>(row.kind);
    EXPECT_NE(drawn(options, {row.kind}), everything) << static_cast<int>(row.kind);
  }
}

// Of a row in which one token has nearly everything, a high temperature makes an even one: top-p before it keeps one
// token, behind it nearly all.
TEST(Sampler, OrderMatters) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  SamplingOptions options;
  options.seed = 3;
  options.temperature = 100;
  options.top_p = 0.9f;
  std::vector<float> logits(vocab.n_vocab, 0.0f);
  logits[7] = 20;
  const auto drawn = [&](std::vector<SamplerKind> samplers) {
    options.samplers = std::move(samplers);
    const auto sampler = Sampler::make(vocab, options, nullptr, 100);
    EXPECT_TRUE(sampler);
    std::vector<Token> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(*(*sampler)->sample(logits.data()));
    return tokens;
  };
  EXPECT_THAT(drawn({SamplerKind::top_p, SamplerKind::temperature}), ::testing::Each(7));
  EXPECT_THAT(drawn({SamplerKind::temperature, SamplerKind::top_p}), ::testing::Contains(::testing::Ne(7)));
}

// libllama takes this seed for the wish for a random one; the last of several answers may come to it by counting up.
TEST(Sampler, TheLargestSeedIsASeedToo) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  SamplingOptions options;
  options.seed = 0xFFFFFFFF;
  options.top_k = 0;
  const std::vector<float> logits(vocab.n_vocab, 0.0f);
  const auto drawn = [&] {
    const auto sampler = Sampler::make(vocab, options, nullptr, 100);
    std::vector<Token> tokens;
    for (int i = 0; i < 10; ++i) tokens.push_back(*(*sampler)->sample(logits.data()));
    return tokens;
  };
  EXPECT_EQ(drawn(), drawn());
}

TEST(Sampler, RowsThatAreNoNumbersAreAnError) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  for (const std::int32_t top_k : {40, 0}) {
    SamplingOptions options;
    options.top_k = top_k;
    const auto sampler = Sampler::make(vocab, options, nullptr, 100);
    ASSERT_TRUE(sampler);
    std::vector<float> logits(vocab.n_vocab, 1.0f);
    EXPECT_TRUE((*sampler)->sample(logits.data()));
    logits[777] = NAN;
    const auto token = (*sampler)->sample(logits.data());
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().code, errc::decode_failed);
  }
}

TEST(Sampler, ForbiddingWhatIsLargestLeavesTheRest) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  SamplingOptions options;
  options.top_k = 1;
  for (Token token = 0; token < 500; ++token)
    options.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
  std::vector<float> logits(vocab.n_vocab);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = -static_cast<float>(i);
  EXPECT_EQ(*(*Sampler::make(vocab, options, nullptr, 100))->sample(logits.data()), 500);
  for (Token token = 500; token < 1000; ++token)
    options.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
  EXPECT_FALSE((*Sampler::make(vocab, options, nullptr, 100))->sample(logits.data()));
}

// -1 means the whole context.
TEST(Sampler, LooksBackAsFarAsTheContext) {
  const SamplerVocab vocab{.n_vocab = 1000, .end_tokens = {}};
  SamplingOptions options;
  options.temperature = 0;
  options.presence_penalty = 100;
  std::vector<float> logits(vocab.n_vocab, 0.0f);
  logits[7] = 2;
  logits[8] = 1;
  std::vector<Token> history(200, 1);
  history[0] = 7;
  const auto next = [&](std::int32_t last_n, std::uint32_t n_ctx) {
    options.penalty_last_n = last_n;
    const auto sampler = Sampler::make(vocab, options, nullptr, n_ctx);
    EXPECT_TRUE(sampler);
    (*sampler)->prime(history);
    return *(*sampler)->sample(logits.data());
  };
  EXPECT_EQ(next(64, 1000), 7);
  EXPECT_EQ(next(-1, 1000), 8);
  EXPECT_EQ(next(200, 1000), 8);
  EXPECT_EQ(next(2'000'000'000, 1000), 8);  // no memory is set aside beyond the context
  EXPECT_EQ(next(-1, 100), 7);
  options.penalty_last_n = -2;
  EXPECT_EQ(Sampler::make(vocab, options, nullptr, 100).error().param, "repeat_last_n");
}

}  // namespace
}  // namespace corral::engine::test
