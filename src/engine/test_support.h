// For the engine's tests: where the small models are, a service on one of them, and libllama by hand as the reference.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <llama.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/llama/backends.h"
#include "engine/service/inference_engine.h"

namespace corral::engine::test {

// $CORRAL_TEST_MODELS, else where script/models puts them.
inline std::filesystem::path models_folder() {
  if (const char* given = getenv("CORRAL_TEST_MODELS"); given != nullptr && *given != '\0') return given;
  if (const char* cache = getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "corral/test-models";
  const char* home = getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "/") / ".cache/corral/test-models";
}

inline std::string model_path(const std::string& name) {
  const std::filesystem::path path = models_folder() / (name + ".gguf");
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error("no test model at " + path.string() +
                             ": run script/models, or set CORRAL_TEST_MODELS to the folder that has them");
  }
  return path.string();
}

// A copy of the model with other metadata, in the test's temporary folder; `change` gets its gguf_context.
template <typename Change>
std::string with_meta(const std::string& name, const std::string& suffix, Change change) {
  ggml_context* tensors = nullptr;
  gguf_context* const from = gguf_init_from_file(model_path(name).c_str(), {.no_alloc = false, .ctx = &tensors});
  EXPECT_NE(from, nullptr);
  gguf_context* const to = gguf_init_empty();
  gguf_set_kv(to, from);
  change(to);
  for (std::int64_t i = 0; i < gguf_get_n_tensors(from); ++i)
    gguf_add_tensor(to, ggml_get_tensor(tensors, gguf_get_tensor_name(from, i)));
  const std::string path = ::testing::TempDir() + name + "-" + suffix + ".gguf";
  // Another test may read or write the same file now.
  const std::string draft = path + "." + std::to_string(getpid());
  EXPECT_TRUE(gguf_write_to_file(to, draft.c_str(), false));
  std::filesystem::rename(draft, path);
  gguf_free(to);
  gguf_free(from);
  ggml_free(tensors);
  return path;
}

// A copy of the model whose vocabulary asks for BOS.
inline std::string with_bos(const std::string& name) {
  return with_meta(name, "bos", [](gguf_context* to) { gguf_set_val_bool(to, "tokenizer.ggml.add_bos_token", true); });
}

// One compute thread: a tiny model gains nothing from more, and the tests of several programs share the machine.
inline EngineLoadOptions load_options(const std::string& model) {
  EngineLoadOptions options;
  options.path = model_path(model);
  options.n_ctx = 2048;
  options.n_threads = 1;
  return options;
}

inline std::unique_ptr<InferenceEngine> load(const EngineLoadOptions& options) {
  auto service = InferenceEngine::load(options);
  if (!service) throw std::runtime_error(service.error().message);
  return std::move(*service);
}

inline GenerateOptions greedy(std::uint32_t max_new_tokens) {
  GenerateOptions options;
  options.max_new_tokens = max_new_tokens;
  options.sampling.temperature = 0;
  return options;
}
// Greedy over everything but the ends: always `max_new_tokens` long.
inline GenerateOptions endless(std::uint32_t max_new_tokens) {
  GenerateOptions options = greedy(max_new_tokens);
  options.sampling.ignore_eos = true;
  return options;
}

struct Answer {
  std::string text;
  std::vector<Token> tokens;
  std::vector<TokenLogprob> logprobs;
  std::vector<StreamChunk> chunks;
  Finish finish;
  int terminals = 0;
};

// Reads a stream to its end; `answer` is what was read of it before.
inline Answer drain(StreamHandle& stream, Answer answer = {}) {
  while (auto chunk = stream.next()) {
    if (chunk->finish) {
      ++answer.terminals;
      answer.finish = *chunk->finish;
      EXPECT_TRUE(chunk->text.empty() && chunk->tokens.empty());
    } else {
      EXPECT_EQ(answer.terminals, 0) << "text behind the terminal item";
    }
    answer.text += chunk->text;
    answer.tokens.insert(answer.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    answer.logprobs.insert(answer.logprobs.end(), chunk->logprobs.begin(), chunk->logprobs.end());
    answer.chunks.push_back(std::move(*chunk));
  }
  EXPECT_EQ(answer.terminals, 1);
  if (answer.finish.reason == FinishReason::length)
    EXPECT_EQ(answer.tokens.size(), answer.finish.usage.completion_tokens);
  return answer;
}

inline Answer generate(InferenceEngine& service, SessionId session, const GenerateOptions& options) {
  auto stream = service.generate_stream(session, options);
  if (!stream) {
    ADD_FAILURE() << stream.error().message;
    return {};
  }
  return drain(*stream);
}

inline SessionId session_with(InferenceEngine& service, std::span<const Token> tokens) {
  const auto session = service.create_session();
  EXPECT_TRUE(session);
  const auto appended = service.append_input(*session, tokens);
  EXPECT_TRUE(appended) << (appended ? "" : appended.error().message);
  return *session;
}

inline SessionId session_with(InferenceEngine& service, std::string_view text) {
  const auto tokens = service.tokenize(text, true, false);
  EXPECT_TRUE(tokens);
  return session_with(service, *tokens);
}

// `count` ordinary tokens, different for each `salt`.
inline std::vector<Token> some_tokens(std::uint32_t count, std::uint32_t salt = 1) {
  std::vector<Token> tokens;
  std::uint32_t state = salt * 2654435761u + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    tokens.push_back(static_cast<Token>(32 + (state >> 16) % 900));
  }
  return tokens;
}

inline std::vector<Token> operator+(std::vector<Token> a, const std::vector<Token>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// libllama with one sequence and no cleverness: what the greedy continuation of a token list is.
//
// Exact equality would ask for too much: ggml's attention rounds differently for passes of 1, of 2 to 63 and of 64 or
// more tokens, and with the place of the cells in the cache, by about a thousandth of the logits' spread (on some
// CPUs perhaps more: kNoise leaves room). Where two tokens are as close as that, either is right. So an answer is
// checked token by token against the logits of its own history: a lost, doubled or foreign token shows all the same,
// because the logits after it are others altogether.
//
// With experts or a state a rounding can grow: a router on the edge sends a token elsewhere. That is a property of the
// history, so what seems wrong is looked at again with the history computed token by token.
class Reference {
 public:
  explicit Reference(const std::string& model) {
    EXPECT_TRUE(load_backends());
    model_ = llama_model_load_from_file(model_path(model).c_str(), llama_model_default_params());
    EXPECT_NE(model_, nullptr);
  }
  ~Reference() { llama_model_free(model_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  // `tokens` is a greedy continuation of `history`. ignore_end: of all tokens but those that end a generation.
  ::testing::AssertionResult is_greedy(const std::vector<Token>& history, const std::vector<Token>& tokens,
                                       bool ignore_end = false) const {
    const auto at_once = is_greedy_in(history.size() + tokens.size(), history, tokens, ignore_end);
    if (at_once || tokens.empty()) return at_once;
    return is_greedy_in(1, history, tokens, ignore_end) ? ::testing::AssertionSuccess() : at_once;
  }

  // Calls `visit` with the logits behind `history`, then behind each of `tokens` but the last.
  template <typename Visit>
  ::testing::AssertionResult each_logits(const std::vector<Token>& history, const std::vector<Token>& tokens,
                                         Visit visit) const {
    return each_logits_in(history.size() + tokens.size(), history, tokens, visit);
  }

  // The first `count` tokens of the greedy continuation, to know what comes.
  std::vector<Token> greedy(std::vector<Token> tokens, std::uint32_t count, bool ignore_end = false) const {
    const auto context = make_context();
    std::vector<Token> answer;
    while (answer.size() < count) {
      EXPECT_EQ(
          llama_decode(context.get(), llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()))), 0);
      answer.push_back(argmax_of(llama_get_logits_ith(context.get(), -1), ignore_end));
      if (llama_vocab_is_eog(llama_model_get_vocab(model_), answer.back())) break;
      tokens = {answer.back()};
    }
    return answer;
  }

 private:
  static constexpr double kNoise = 0.01;

  // As the public ones, in passes of at most `pass` tokens.
  ::testing::AssertionResult is_greedy_in(std::size_t pass, const std::vector<Token>& history,
                                          const std::vector<Token>& tokens, bool ignore_end) const {
    std::size_t i = 0;
    auto result = ::testing::AssertionSuccess();
    const auto checked = each_logits_in(pass, history, tokens, [&](const float* logits) {
      const Token best = argmax_of(logits, ignore_end), token = tokens[i++];
      double mean = 0;
      for (Token one = 0; one < n_vocab(); ++one) mean += logits[one] / n_vocab();
      const double behind = (logits[best] - logits[token]) / (logits[best] - mean);
      if (behind < kNoise || !result) return;
      result = ::testing::AssertionFailure()
               << "token " << i - 1 << " of " << tokens.size() << " is " << token << ", but greedy would be " << best
               << " (behind by " << behind << " of the spread)";
    });
    return checked ? result : checked;
  }

  template <typename Visit>
  ::testing::AssertionResult each_logits_in(std::size_t pass, const std::vector<Token>& history,
                                            const std::vector<Token>& tokens, Visit visit) const {
    if (tokens.empty()) return ::testing::AssertionFailure() << "no tokens";
    std::vector<Token> all = history + tokens;
    all.pop_back();
    const auto context = make_context();
    for (std::size_t from = 0; from < all.size(); from += pass) {
      const std::size_t count = std::min(pass, all.size() - from);
      llama_batch batch = llama_batch_init(static_cast<std::int32_t>(count), 0, 1);
      for (std::size_t i = from; i < from + count; ++i) {
        const std::int32_t at = batch.n_tokens++;
        batch.token[at] = all[i];
        batch.pos[at] = static_cast<llama_pos>(i);
        batch.n_seq_id[at] = 1;
        batch.seq_id[at][0] = 0;
        batch.logits[at] = i + 1 >= history.size();
      }
      const std::int32_t status = llama_decode(context.get(), batch);
      llama_batch_free(batch);
      if (status != 0) return ::testing::AssertionFailure() << "llama_decode gave " << status;
      for (std::size_t i = from; i < from + count; ++i)
        if (i + 1 >= history.size()) visit(llama_get_logits_ith(context.get(), static_cast<std::int32_t>(i - from)));
    }
    return ::testing::AssertionSuccess();
  }
  std::unique_ptr<llama_context, decltype(&llama_free)> make_context() const {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = 2048;
    params.n_threads = params.n_threads_batch = 1;
    return {llama_init_from_model(model_, params), llama_free};
  }
  std::int32_t n_vocab() const { return llama_vocab_n_tokens(llama_model_get_vocab(model_)); }
  Token argmax_of(const float* logits, bool ignore_end) const {
    Token best = kNoToken;
    for (Token token = 0; token < n_vocab(); ++token) {
      if (ignore_end && llama_vocab_is_eog(llama_model_get_vocab(model_), token)) continue;
      if (best == kNoToken || logits[token] > logits[best]) best = token;
    }
    return best;
  }

  llama_model* model_ = nullptr;
};

}  // namespace corral::engine::test
