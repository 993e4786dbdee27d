// Pictures in sessions, with real projectors: what libmtmd and libllama make of them by hand is the reference.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <llama.h>
#include <mtmd-helper.h>
#include <mtmd.h>

#include "engine/fit/memory_estimate.h"
#include "engine/test_pictures.h"
#include "engine/test_support.h"
#include "engine/values/errors.h"

namespace corral::engine::test {
namespace {

constexpr std::uint32_t kCells = test_models::kPictureTokens;

struct Case {
  const char* model;
  const char* projector;
};

struct Prompt {
  std::vector<Token> tokens;
  std::vector<MediaSpan> media;

  Prompt& text(const std::vector<Token>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
    return *this;
  }
  Prompt& picture(const InferenceEngine& engine, const std::vector<std::uint8_t>& file) {
    auto parts = engine.read_media(file);
    EXPECT_TRUE(parts) << parts.error().message;
    for (auto& part : *parts) {
      text(part.tokens);
      if (!part.piece) continue;
      media.push_back({.begin = static_cast<std::uint32_t>(tokens.size()), .piece = part.piece});
      append_media_tokens(*part.piece, tokens);
    }
    return *this;
  }
};

SessionId session_with(InferenceEngine& engine, const Prompt& prompt, const SessionOptions& options = {}) {
  const auto session = engine.create_session(prompt.tokens, options, prompt.media);
  EXPECT_TRUE(session) << session.error().message;
  return *session;
}

// Greedy, with the likeliest tokens of each step.
GenerateOptions listed(std::uint32_t max_new_tokens) {
  GenerateOptions options = endless(max_new_tokens);
  options.n_probs = 2;
  return options;
}

// Equal tokens, or equal ones up to a tie: passes of another size round differently (Reference).
::testing::AssertionResult same_up_to_ties(const std::vector<Token>& tokens, const Answer& expected) {
  const auto [at, other] = std::ranges::mismatch(tokens, expected.tokens);
  if (at == tokens.end() && other == expected.tokens.end()) return ::testing::AssertionSuccess();
  if (at == tokens.end() || other == expected.tokens.end()) return ::testing::AssertionFailure() << "not as many";
  const auto place = static_cast<std::size_t>(at - tokens.begin());
  const auto& top = expected.logprobs.at(place).top;
  constexpr float kTie = 0.02f;
  if (top.size() > 1 && top[0].logprob - top[1].logprob < kTie && *at == top[1].token)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "token " << place << " is " << *at << ", not " << *other;
}

class Vision : public ::testing::TestWithParam<Case> {
 protected:
  EngineLoadOptions options() const {
    EngineLoadOptions options = load_options(GetParam().model);
    options.mmproj = projector;
    return options;
  }
  // The greedy continuation of `before`, the picture and `after`, by libmtmd's own helpers.
  std::vector<Token> by_hand(const std::vector<Token>& before, const std::vector<std::uint8_t>& file,
                             const std::vector<Token>& after, std::uint32_t count) const {
    EXPECT_TRUE(load_backends());
    llama_model* const model =
        llama_model_load_from_file(model_path(GetParam().model).c_str(), llama_model_default_params());
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = 512;
    params.n_threads = params.n_threads_batch = 1;
    llama_context* const context = llama_init_from_model(model, params);
    mtmd_context_params how = mtmd_context_params_default();
    how.use_gpu = false;
    how.n_threads = 1;
    mtmd_context* const projecting = mtmd_init_from_file(projector.c_str(), model, how);
    EXPECT_NE(projecting, nullptr);
    mtmd_bitmap* const bitmap =
        mtmd_helper_bitmap_init_from_buf(projecting, file.data(), file.size(), false, mtmd_helper_init_opt_default())
            .bitmap;
    const mtmd_input_part part{.text = nullptr, .bitmap = bitmap};
    const mtmd_input_part* const parts[] = {&part};
    mtmd_input_chunks* const chunks = mtmd_input_chunks_init();
    EXPECT_EQ(mtmd_tokenize_from_parts(projecting, chunks, parts, 1, false), 0);
    llama_pos past = 0;
    const auto take = [&](std::vector<Token> tokens) {
      EXPECT_EQ(llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()))), 0);
      past += static_cast<llama_pos>(tokens.size());
    };
    take(before);
    EXPECT_EQ(mtmd_helper_eval_chunks(projecting, context, chunks, past, 0, 512, false, &past), 0);
    take(after);
    std::vector<Token> answer;
    const std::int32_t n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    while (answer.size() < count) {
      const float* const logits = llama_get_logits_ith(context, -1);
      Token best = 0;
      for (Token token = 1; token < n_vocab; ++token) {
        if (logits[token] > logits[best]) best = token;
      }
      answer.push_back(best);
      take({best});
    }
    mtmd_input_chunks_free(chunks);
    mtmd_bitmap_free(bitmap);
    mtmd_free(projecting);
    llama_free(context);
    llama_model_free(model);
    return answer;
  }

  const std::string projector = projector_path(GetParam().projector);
};
INSTANTIATE_TEST_SUITE_P(Projectors, Vision,
                         ::testing::Values(Case{"tiny-llama", "mlp"}, Case{"tiny-gemma3", "gemma3"}),
                         [](const auto& run) { return std::string(run.param.projector); });

TEST_P(Vision, APictureIsTokensOfThePrompt) {
  const auto engine = load(options());
  EXPECT_TRUE(engine->facts().vision);
  EXPECT_FALSE(engine->facts().sound);
  const auto before = some_tokens(20), after = some_tokens(10, 2);
  Prompt prompt;
  prompt.text(before).picture(*engine, picture(100, 60)).text(after);
  ASSERT_EQ(prompt.media.size(), 1u);
  EXPECT_EQ(prompt.media[0].piece->cells, kCells);
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(24));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.finish.usage.prompt_tokens, prompt.tokens.size());
  EXPECT_EQ(answer.tokens, by_hand(before, picture(100, 60), after, 24));
  EXPECT_EQ(engine->stats().media->encoded, 1u);
  EXPECT_EQ(engine->stats().total().media_tokens, kCells);
}

TEST_P(Vision, AnotherPictureGivesAnotherAnswer) {
  const auto engine = load(options());
  const auto ask = [&](std::uint32_t salt) {
    Prompt prompt;
    prompt.text(some_tokens(20)).picture(*engine, picture(64, 64, salt)).text(some_tokens(10, 2));
    return generate(*engine, session_with(*engine, prompt), endless(24)).tokens;
  };
  const auto one = ask(1);
  EXPECT_NE(one, ask(2));
  EXPECT_EQ(one, ask(1));
}

TEST_P(Vision, ASeenPictureIsNotEncodedAgain) {
  const auto engine = load(options());
  Prompt prompt;
  prompt.text(some_tokens(20)).picture(*engine, picture(64, 64)).text(some_tokens(10, 2));
  const Answer first = generate(*engine, session_with(*engine, prompt), endless(8));
  // Its cells are shared.
  Prompt again;
  again.text(some_tokens(20)).picture(*engine, picture(64, 64)).text(some_tokens(10, 3));
  const Answer second = generate(*engine, session_with(*engine, again), endless(8));
  EXPECT_EQ(second.finish.usage.cached_tokens, prompt.tokens.size() - 10);
  EXPECT_EQ(engine->stats().total().media_tokens, kCells);
  // Elsewhere its cells are computed anew, from the same embeddings.
  Prompt elsewhere;
  elsewhere.text(some_tokens(5, 4)).picture(*engine, picture(64, 64)).text(some_tokens(10, 3));
  generate(*engine, session_with(*engine, elsewhere), endless(8));
  EXPECT_EQ(engine->stats().total().media_tokens, 2 * kCells);
  EXPECT_EQ(engine->stats().media->encoded, 1u);
}

TEST_P(Vision, APictureIsParkedAndRestored) {
  EngineLoadOptions with = options();
  with.media_bytes = 1;  // only the latest embeddings
  const auto engine = load(with);
  Prompt prompt;
  for (std::uint32_t i = 1; i <= 4; ++i) prompt.text(some_tokens(10, i)).picture(*engine, picture(64, 64, i));
  prompt.text(some_tokens(10));
  const SessionId session = session_with(*engine, prompt);
  const Answer first = generate(*engine, session, endless(8));
  EXPECT_EQ(engine->stats().media->encoded, 4u);
  EXPECT_TRUE(engine->downsize().done);
  const Answer second = generate(*engine, session, endless(8));
  EXPECT_EQ(engine->stats().media->encoded, 4u);
  EXPECT_EQ(engine->stats().total().restored, 1u);
  // The same without the pause.
  const auto other = load(options());
  Prompt again;
  for (std::uint32_t i = 1; i <= 4; ++i) again.text(some_tokens(10, i)).picture(*other, picture(64, 64, i));
  again.text(some_tokens(10));
  EXPECT_TRUE(same_up_to_ties(first.tokens + second.tokens, generate(*other, session_with(*other, again), listed(16))));
}

TEST_P(Vision, WithoutParkingItIsComputedAgain) {
  EngineLoadOptions with = options();
  with.park_bytes = 0;
  with.media_bytes = 1;
  const auto engine = load(with);
  Prompt prompt;
  prompt.text(some_tokens(10)).picture(*engine, picture(64, 64, 1)).text(some_tokens(3));
  prompt.picture(*engine, picture(64, 64, 2)).text(some_tokens(10));
  const SessionId session = session_with(*engine, prompt);
  const Answer first = generate(*engine, session, endless(8));
  EXPECT_TRUE(engine->downsize().done);
  const Answer second = generate(*engine, session, endless(8));
  EXPECT_EQ(second.finish.reason, FinishReason::length);
  EXPECT_GT(engine->stats().media->encoded, 2u);
  const auto other = load(options());
  EXPECT_TRUE(
      same_up_to_ties(first.tokens + second.tokens, generate(*other, session_with(*other, prompt), listed(16))));
}

TEST_P(Vision, ManySessionsWithPicturesAndText) {
  EngineLoadOptions with = options();
  with.n_ctx = 512;  // some are preempted
  const auto engine = load(with);
  std::vector<Prompt> prompts(8);
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < prompts.size(); ++i) {
    prompts[i].text(some_tokens(20 + i, i + 1));
    if (i % 2 == 0) prompts[i].picture(*engine, picture(64, 64, i)).text(some_tokens(7, i));
    if (i % 4 == 0) prompts[i].picture(*engine, picture(64, 80, i)).text(some_tokens(30, i));
    auto stream = engine->generate_stream(session_with(*engine, prompts[i]), endless(60));
    ASSERT_TRUE(stream) << stream.error().message;
    streams.push_back(std::move(*stream));
  }
  std::vector<Answer> answers;
  for (StreamHandle& stream : streams) answers.push_back(drain(stream));
  const auto alone = load(options());
  for (std::uint32_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(answers[i].finish.reason, FinishReason::length);
    EXPECT_TRUE(same_up_to_ties(answers[i].tokens, generate(*alone, session_with(*alone, prompts[i]), listed(60))))
        << i;
  }
}

TEST_P(Vision, AContextShiftDropsWholePictures) {
  const auto engine = load(options());
  Prompt prompt;
  prompt.text(some_tokens(20));
  for (std::uint32_t i = 1; i <= 3; ++i) prompt.picture(*engine, picture(64, 64, i)).text(some_tokens(5, i));
  SessionOptions small;
  small.n_ctx = static_cast<std::uint32_t>(prompt.tokens.size()) + 10;
  GenerateOptions go_on = endless(150);
  go_on.shift = ContextShift{.keep = 22};
  const Answer answer = generate(*engine, session_with(*engine, prompt, small), go_on);
  // A model whose memory can't shift ends instead.
  if (answer.finish.reason == FinishReason::context_full) return;
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_GT(answer.finish.discarded, 0u);
}

TEST_P(Vision, WhatCannotBeReadIsRefused) {
  const auto engine = load(options());
  const auto refusal = [&](const std::vector<std::uint8_t>& file) { return engine->read_media(file).error().message; };
  auto file = picture(64, 64);
  EXPECT_EQ(refusal({file.begin(), file.begin() + 50}), "the PNG file is damaged: it ends before its picture does");
  file[60] ^= 0xFF;
  file[70] ^= 0xFF;
  std::fill(file.begin() + 45, file.begin() + 200, 0xEE);
  EXPECT_EQ(refusal(file), "the PNG file can't be decoded");
  EXPECT_EQ(refusal({'R', 'I', 'F', 'F'}), "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
}

TEST(Projectors, OfAnotherModelAreRefused) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.mmproj = projector_path("mlp", {.projected = 32});
  const auto engine = InferenceEngine::load(options);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, errc::load_failed);
  EXPECT_EQ(engine.error().param, "mmproj");
  EXPECT_NE(engine.error().message.find("mismatch between text model (n_embd = 64) and mmproj (n_embd = 32)"),
            std::string::npos)
      << engine.error().message;
  options.mmproj = "/nowhere/mmproj.gguf";
  const auto missing = InferenceEngine::load(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::file_not_found);
  EXPECT_EQ(missing.error().param, "mmproj");
  options.mmproj = model_path("tiny-llama");
  EXPECT_EQ(InferenceEngine::load(options).error().param, "mmproj");
}

TEST(Projectors, ModelsWithoutOneTakeTextOnly) {
  const auto engine = load(load_options("tiny-llama"));
  EXPECT_FALSE(engine->facts().vision);
  EXPECT_EQ(engine->read_media(picture(64, 64)).error().code, errc::unsupported);
  EXPECT_FALSE(engine->stats().media);
}

TEST(Projectors, TheirMemoryIsPartOfTheEstimate) {
  EngineLoadOptions options = load_options("tiny-llama");
  const auto plain = estimate_memory(options);
  options.mmproj = projector_path("mlp");
  const auto with = estimate_memory(options);
  ASSERT_TRUE(plain && with);
  EXPECT_GT(with->devices.front().weights, plain->devices.front().weights + 50'000);
  EXPECT_GT(with->devices.front().compute, plain->devices.front().compute);
}

TEST(Projectors, ACheckerKnowsWhatTheModelTakes) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.mmproj = projector_path("mlp");
  const auto engine = InferenceEngine::load_without_weights(options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE((*engine)->facts().vision);
  EXPECT_EQ((*engine)->read_media(picture(64, 64)).error().code, errc::no_weights);
}

}  // namespace
}  // namespace corral::engine::test
