// LoRA adapters of a load: what they change, what they leave alone, what can be wrong with them.
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

using testing::HasSubstr;

EngineLoadOptions with_adapter(float scale) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.loras = {{model_path("tiny-llama-lora"), scale}};
  return options;
}

std::vector<Token> answer_of(const EngineLoadOptions& options) {
  const auto service = load(options);
  return generate(*service, session_with(*service, some_tokens(40)), endless(24)).tokens;
}

// libllama by hand: the greedy continuation with the adapter at this scale.
std::vector<Token> by_hand(float scale, std::uint32_t count) {
  EXPECT_TRUE(load_backends());
  llama_model* const model = llama_model_load_from_file(model_path("tiny-llama").c_str(), llama_model_default_params());
  llama_adapter_lora* adapter = llama_adapter_lora_init(model, model_path("tiny-llama-lora").c_str());
  EXPECT_NE(adapter, nullptr);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 2048;
  params.n_threads = params.n_threads_batch = 1;
  llama_context* const context = llama_init_from_model(model, params);
  EXPECT_EQ(llama_set_adapters_lora(context, &adapter, 1, &scale), 0);
  std::vector<Token> pending = some_tokens(40), answer;
  const llama_vocab* const vocab = llama_model_get_vocab(model);
  while (answer.size() < count) {
    EXPECT_EQ(llama_decode(context, llama_batch_get_one(pending.data(), static_cast<std::int32_t>(pending.size()))), 0);
    const float* const logits = llama_get_logits_ith(context, -1);
    Token best = kNoToken;
    for (Token token = 0; token < llama_vocab_n_tokens(vocab); ++token) {
      if (!llama_vocab_is_eog(vocab, token) && (best == kNoToken || logits[token] > logits[best])) best = token;
    }
    answer.push_back(best);
    pending = {best};
  }
  llama_free(context);
  llama_model_free(model);
  return answer;
}

TEST(Lora, ChangesTheAnswerAsLibllamaDoesByHand) {
  const auto plain = answer_of(load_options("tiny-llama"));
  const auto adapted = answer_of(with_adapter(1));
  EXPECT_NE(adapted, plain);
  // The first tokens: rounding may part them later (see Reference in test_support.h).
  const std::vector<Token> start(adapted.begin(), adapted.begin() + 6);
  EXPECT_EQ(start, by_hand(1, 6));
}

TEST(Lora, ScaleZeroIsNoAdapterAndScalesDiffer) {
  EXPECT_EQ(answer_of(with_adapter(0)), answer_of(load_options("tiny-llama")));
  EXPECT_NE(answer_of(with_adapter(-1)), answer_of(with_adapter(1)));
}

TEST(Lora, AppliesToEveryWorker) {
  EngineLoadOptions options = with_adapter(1);
  options.workers = 2;
  const auto service = load(options);
  const auto first = generate(*service, session_with(*service, some_tokens(40)), endless(24)).tokens;
  const auto second = generate(*service, session_with(*service, some_tokens(40)), endless(24)).tokens;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, answer_of(with_adapter(1)));
}

// Sessions of several scales side by side, in passes of their own: each says what it says alone.
TEST(Lora, EachSessionHasItsOwnScales) {
  const auto service = load(with_adapter(1));
  EXPECT_EQ(service->adapter_scales(), AdapterScales{1});
  const std::vector<float> scales{0, 1, 0.5F, 0, 1, -1};
  std::vector<StreamHandle> streams;
  std::vector<SessionId> sessions;
  for (const float scale : scales) {
    const auto session = service->create_session(some_tokens(40), {.adapters = AdapterScales{scale}});
    ASSERT_TRUE(session);
    sessions.push_back(*session);
    streams.push_back(*service->generate_stream(*session, endless(24)));
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    EngineLoadOptions alone = with_adapter(scales[i]);
    EXPECT_EQ(drain(streams[i]).tokens, answer_of(alone)) << scales[i];
  }
  // What is left of them is found by those of the same scales only.
  for (const SessionId session : sessions) EXPECT_TRUE(service->end_session(session));
  for (const float scale : {0.5F, 0.25F}) {
    const auto session = service->create_session(some_tokens(40), {.adapters = AdapterScales{scale}});
    const auto answer = generate(*service, *session, endless(24));
    EXPECT_EQ(answer.finish.usage.cached_tokens > 0, scale == 0.5F);
    EXPECT_EQ(answer.tokens, answer_of(with_adapter(scale)));
  }
}

TEST(Lora, ScalesOfSessionsThatSayNothingCanBeChanged) {
  const auto service = load(with_adapter(0));
  ASSERT_EQ(service->facts().adapter_files.size(), 1u) << "it is there, though it changes nothing";
  const auto answer = [&] { return generate(*service, session_with(*service, some_tokens(40)), endless(24)).tokens; };
  EXPECT_EQ(answer(), answer_of(with_adapter(0)));
  EXPECT_TRUE(service->set_adapter_scales({1}));
  EXPECT_EQ(service->adapter_scales(), AdapterScales{1});
  EXPECT_EQ(answer(), answer_of(with_adapter(1)));
  EXPECT_TRUE(service->set_adapter_scales({0}));
  EXPECT_EQ(answer(), answer_of(with_adapter(0)));
  for (const AdapterScales& wrong : {AdapterScales{}, AdapterScales{1, 1}, AdapterScales{NAN}}) {
    EXPECT_EQ(service->set_adapter_scales(wrong).error().code, errc::invalid_argument);
    EXPECT_EQ(service->create_session({.adapters = wrong}).error().code, errc::invalid_argument);
  }
}

TEST(Lora, SetOfAdaptersHasATextOfItsOwn) {
  EXPECT_EQ(load(load_options("tiny-llama"))->facts().adapters, "");
  EXPECT_EQ(load(with_adapter(0))->facts().adapters, "");
  const std::string one = load(with_adapter(1))->facts().adapters;
  EXPECT_THAT(one, HasSubstr("tiny-llama-lora"));
  EXPECT_EQ(load(with_adapter(1))->facts().adapters, one);
  EXPECT_NE(load(with_adapter(0.5f))->facts().adapters, one);
}

TEST(Lora, WhatIsWrongNamesTheFileAndTheOption) {
  EngineLoadOptions options = load_options("tiny-llama");
  const auto error = [&](const std::string& path) {
    options.loras = {{path, 1}};
    const auto service = InferenceEngine::load(options);
    if (service) throw std::runtime_error("it loaded with " + path);
    EXPECT_EQ(service.error().param, "lora");
    EXPECT_THAT(service.error().message, HasSubstr(path));
    return service.error().code;
  };
  EXPECT_EQ(error("/nowhere/adapter.gguf"), errc::file_not_found);
  EXPECT_EQ(error(model_path("tiny-qwen3")), errc::unsupported);  // a model, no adapter
  const std::string garbage = testing::TempDir() + "garbage-lora.gguf";
  std::ofstream(garbage) << "this is no adapter";
  EXPECT_EQ(error(garbage), errc::unsupported);
  options.loras = {{garbage, 1}};
  EXPECT_THAT(InferenceEngine::load(options).error().message, testing::Not(HasSubstr("'this'")))
      << "bytes of a file in a message";
  options.path = model_path("tiny-qwen3");
  EXPECT_EQ(error(model_path("tiny-llama-lora")), errc::unsupported);  // another architecture
}

}  // namespace
}  // namespace corral::engine::test
