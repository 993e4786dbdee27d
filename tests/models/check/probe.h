// Runs a model through libllama alone, for the generator's own tests: no product code between model and result.
// One Probe belongs to one thread. What libllama refuses throws std::runtime_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <llama-cpp.h>

namespace corral::test_models {

struct ProbeOptions {
  std::uint32_t sequences = 1;
  std::int32_t threads = 2;
  std::uint32_t chunk = 512;  // tokens of a prompt that are decoded at once
  bool flash_attention = true;
  bool embeddings = false;
};

class Probe {
 public:
  using Tokens = std::vector<llama_token>;

  explicit Probe(const std::filesystem::path& file, const ProbeOptions& options = {});

  // The chat template's form of one user turn, up to where the answer starts.
  static std::string turn(const std::string& user);

  Tokens tokenize(const std::string& text, bool add_special = false) const;
  std::string text(const Tokens& tokens) const;

  // Greedy answers to all prompts at once, one sequence each: up to `count` tokens, or to the end of generation.
  std::vector<Tokens> greedy(const std::vector<std::string>& prompts, std::size_t count);
  Tokens greedy(const std::string& prompt, std::size_t count) { return greedy(std::vector{prompt}, count).front(); }

  // The logits behind the last token of the text.
  std::vector<float> logits(const std::string& text);
  // The pooled output: an embedding, or one score for a reranker.
  std::vector<float> pooled(const Tokens& tokens);

  llama_model* model() const { return model_.get(); }
  llama_context* context() const { return context_.get(); }
  const llama_vocab* vocabulary() const { return llama_model_get_vocab(model_.get()); }

 private:
  void decode(const llama_batch& batch);

  ProbeOptions options_;
  llama_model_ptr model_;
  llama_context_ptr context_;
};

}  // namespace corral::test_models
