// Contexts that are full lose tokens, and the answer goes on.
#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kContext = 256;

EngineLoadOptions short_context(const std::string& model = "tiny-llama") {
  EngineLoadOptions options = load_options(model);
  options.n_ctx = kContext;
  return options;
}

GenerateOptions shifting(std::uint32_t tokens, ContextShift shift = {}) {
  GenerateOptions options = endless(tokens);
  options.shift = shift;
  return options;
}

// libllama by hand, as llama-server does it.
std::vector<Token> by_hand(std::span<const Token> prompt, std::uint32_t count, std::uint32_t keep) {
  EXPECT_TRUE(load_backends());
  llama_model* const model = llama_model_load_from_file(model_path("tiny-llama").c_str(), llama_model_default_params());
  llama_context_params params = llama_context_default_params();
  params.n_ctx = kContext;
  params.n_threads = params.n_threads_batch = 1;
  llama_context* const context = llama_init_from_model(model, params);
  llama_memory_t const memory = llama_get_memory(context);
  const llama_vocab* const vocab = llama_model_get_vocab(model);
  std::vector<Token> pending(prompt.begin(), prompt.end()), answer;
  auto cached = static_cast<std::int32_t>(prompt.size());
  while (answer.size() < count) {
    EXPECT_EQ(llama_decode(context, llama_batch_get_one(pending.data(), static_cast<std::int32_t>(pending.size()))), 0);
    const float* const logits = llama_get_logits_ith(context, -1);
    Token best = kNoToken;
    for (Token token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
      if (!llama_vocab_is_eog(vocab, token) && (best == kNoToken || logits[token] > logits[best])) best = token;
    }
    answer.push_back(best);
    pending = {best};
    if (cached + 1 >= static_cast<std::int32_t>(kContext)) {
      const auto kept = static_cast<std::int32_t>(keep), discard = (cached - kept) / 2;
      llama_memory_seq_rm(memory, 0, kept, kept + discard);
      llama_memory_seq_add(memory, 0, kept + discard, cached, -discard);
      cached -= discard;
    }
    ++cached;
  }
  llama_free(context);
  llama_model_free(model);
  return answer;
}

TEST(ContextShift, GoesOnAsLibllamaDoesByHand) {
  const auto service = load(short_context());
  const auto prompt = some_tokens(200);
  for (const std::uint32_t keep : {0u, 20u}) {
    const auto answer =
        generate(*service, session_with(*service, prompt), shifting(200, {.keep = static_cast<std::int32_t>(keep)}));
    EXPECT_EQ(answer.finish.reason, FinishReason::length);
    EXPECT_EQ(answer.tokens.size(), 200u);
    EXPECT_GT(answer.finish.discarded, 0u);
    EXPECT_EQ(answer.tokens, by_hand(prompt, 200, keep)) << keep;
  }
}

TEST(ContextShift, IsOffUnlessAskedFor) {
  const auto service = load(short_context());
  const auto answer = generate(*service, session_with(*service, some_tokens(200)), endless(200));
  EXPECT_EQ(answer.finish.reason, FinishReason::context_full);
  EXPECT_EQ(answer.finish.discarded, 0u);
}

// What a shifted session has in cells came of another history: nobody finds it, and it takes nothing from others.
TEST(ContextShift, TakesNothingFromThoseItSharedWith) {
  const auto service = load(short_context());
  const auto prompt = some_tokens(120);
  const auto alone = generate(*service, session_with(*service, prompt), endless(16)).tokens;
  const auto shifted = session_with(*service, prompt);
  auto stream = *service->generate_stream(shifted, shifting(300));
  const auto beside = session_with(*service, prompt);
  const auto other = generate(*service, beside, endless(16));
  EXPECT_EQ(other.tokens, alone);
  const auto answer = drain(stream);
  EXPECT_EQ(answer.tokens.size(), 300u);
  EXPECT_EQ(generate(*service, session_with(*service, prompt), endless(16)).tokens, alone);
  EXPECT_TRUE(service->end_session(shifted));
  EXPECT_EQ(generate(*service, session_with(*service, prompt), endless(16)).tokens, alone);
}

TEST(ContextShift, TheNextTurnGoesOnFromWhatIsLeft) {
  const auto service = load(short_context());
  const auto once = session_with(*service, some_tokens(200));
  const auto whole = generate(*service, once, shifting(180)).tokens;
  const auto turns = session_with(*service, some_tokens(200));
  auto first = generate(*service, turns, shifting(100)).tokens;
  const auto second = generate(*service, turns, shifting(80)).tokens;
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(first, whole);
}

// Of a recurrent model nothing can go: only its positions are moved.
TEST(ContextShift, AStateGoesOnAsItIs) {
  const auto service = load(short_context("tiny-mamba"));
  const auto answer = generate(*service, session_with(*service, some_tokens(200)), shifting(200));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
}

TEST(ContextShift, GoesWithGuesses) {
  EngineLoadOptions options = short_context();
  options.speculative = {.max_tokens = 4, .measure = false};
  const auto prompt = some_tokens(200);
  const auto service = load(options);
  EXPECT_EQ(generate(*service, session_with(*service, prompt), shifting(200)).tokens.size(), 200u);
}

}  // namespace
}  // namespace corral::engine::test
