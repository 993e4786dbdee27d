// For tests of pictures in sessions: prompts with pictures, models that take them, and libmtmd by hand as the
// reference.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <llama.h>
#include <mtmd-helper.h>
#include <mtmd.h>

#include "engine/test_pictures.h"
#include "engine/test_support.h"

namespace corral::engine::test {

inline constexpr std::uint32_t kPictureCells = test_models::kPictureTokens;

struct VisionCase {
  const char* model;
  const char* projector;
};
inline constexpr VisionCase kVisionCases[] = {
    {"tiny-llama", "mlp"}, {"tiny-gemma3", "gemma3"}, {"tiny-qwen2vl", "qwen2vl"}};

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

inline SessionId session_with(InferenceEngine& engine, const Prompt& prompt, const SessionOptions& options = {}) {
  const auto session = engine.create_session(prompt.tokens, options, prompt.media);
  EXPECT_TRUE(session) << session.error().message;
  return *session;
}

// Greedy, with the likeliest tokens of each step.
inline GenerateOptions listed(std::uint32_t max_new_tokens) {
  GenerateOptions options = endless(max_new_tokens);
  options.n_probs = 2;
  return options;
}

// Equal tokens, or equal ones up to a tie: passes of another size round differently (Reference).
inline ::testing::AssertionResult same_up_to_ties(const std::vector<Token>& tokens, const Answer& expected) {
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

class Vision : public ::testing::TestWithParam<VisionCase> {
 protected:
  EngineLoadOptions options() const {
    EngineLoadOptions options = load_options(GetParam().model);
    options.mmproj = projector;
    return options;
  }
  // The model rotates positions in several dimensions; 64 x 64 pixels have kPictureCells cells.
  static bool mrope() { return std::string_view(GetParam().projector) == "qwen2vl"; }
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
    // Positions by hand, too: with M-RoPE libllama doesn't know that of the first token behind a picture.
    const auto take = [&](std::vector<Token> tokens) {
      llama_batch batch = llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()));
      std::vector<llama_pos> positions(tokens.size());
      std::iota(positions.begin(), positions.end(), past);
      batch.pos = positions.data();
      EXPECT_EQ(llama_decode(context, batch), 0);
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

inline std::string name_of(const ::testing::TestParamInfo<VisionCase>& run) { return run.param.projector; }

}  // namespace corral::engine::test
