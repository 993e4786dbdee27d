// Weights and vocabulary of a model: loaded once, shared by all workers, then immutable, so safe on every thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/grammar/vocabulary.h"
#include "engine/kv/token_table.h"
#include "engine/llama/memory_kind.h"
#include "engine/llama/pretokenizer.h"
#include "engine/values/options.h"
#include "engine/values/types.h"

namespace corral::engine {

class Model final : public TokenTable {
 public:
  // Errors: as InferenceEngine::load. load_backends() must have succeeded.
  static Result<std::shared_ptr<Model>> load(const EngineLoadOptions& options,
                                             const std::function<bool(float)>& progress);
  // The first check of load(). Errors: file_not_found.
  static Result<> check_file(const std::string& path);
  // A model with a layout of its weights, but without their memory: for dry runs of contexts.
  static Result<std::shared_ptr<Model>> load_empty(const EngineLoadOptions& options);

  const ModelFacts& facts() const { return facts_; }
  ModelFacts& mutable_facts() { return facts_; }  // while loading: for facts that a context provides
  llama_model* handle() const { return model_.get(); }
  const llama_vocab* vocab() const { return vocab_; }
  const SamplingOptions& default_sampling() const { return default_sampling_; }

  // Uses a separate thread if the text may need more stack than this one has.
  //
  // Errors: tokenize_failed; input_too_long (pretokenizer.h); out_of_memory.
  Result<std::vector<Token>> tokenize(std::string_view text, bool add_special, bool parse_special) const;
  std::uint32_t size() const override { return facts_.n_vocab; }
  void append_piece(Token token, bool render_special, std::string& to) const override;
  bool valid(Token token) const { return token >= 0 && static_cast<std::uint32_t>(token) < facts_.n_vocab; }
  bool ends_generation(Token token) const override { return llama_vocab_is_eog(vocab_, token); }

  // For grammars. The first call builds it, which takes about 50 ms.
  const GrammarVocabulary& grammar_vocabulary() const;
  // Tokens that end a generation.
  std::span<const Token> end_tokens() const { return end_tokens_; }
  // Tokens this model must never sample.
  std::span<const Token> suppressed_tokens() const { return suppressed_; }

  // Kind of the model's memory, and the operations that it supports.
  MemoryFacts memory_facts() const;
  MemoryRules memory_rules() const { return rules_of(memory_kind(memory_facts())); }

  // The file has RoPE factors for short and for long contexts, and a context of `n_ctx` tokens uses the long ones: in a
  // smaller context the same tokens get other KV.
  bool has_long_rope(std::uint32_t n_ctx) const;

  // For f16 cells; approximate for unusual architectures.
  std::uint64_t kv_bytes_per_token() const;
  // Whether these adapters fit this model, which may be loaded empty. Keeps their memory while the model lives. Errors:
  // file_not_found, unsupported, out_of_memory; all name "lora".
  Result<> check_adapters(const std::vector<LoraAdapter>& loras) { return add_adapters(loras); }
  // Applies adapters to a context of this model; empty: the scales of the load.
  void apply_adapters(llama_context* context, const AdapterScales& scales = {}) const;

  // Files of the model: one, or all parts of a split set.
  std::vector<std::string> files() const;
  // Identifies the current content of these files, by path, size and time.
  std::string identity() const;

  // A metadata value of the file, empty if there is none.
  std::string meta(const std::string& key) const;

 private:
  Model(llama_model* model, const EngineLoadOptions& options);
  static Result<std::shared_ptr<Model>> open(const EngineLoadOptions& options, llama_model_params params);
  Result<> describe(const EngineLoadOptions& options);
  Result<> add_adapters(const std::vector<LoraAdapter>& loras);
  Result<std::vector<Token>> tokenize_here(std::string_view text, bool add_special, bool parse_special) const;
  void read_default_sampling();
  void read_sampler_order();

  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
  };
  std::unique_ptr<llama_model, Free> model_;
  const llama_vocab* vocab_ = nullptr;
  Pretokenizer pretokenizer_;
  ModelFacts facts_;
  SamplingOptions default_sampling_;
  std::vector<Token> end_tokens_;
  std::vector<Token> suppressed_;
  std::vector<llama_adapter_lora*> adapters_;  // the model's own, freed with it
  AdapterScales adapter_scales_;               // of the load
  mutable std::once_flag grammar_vocabulary_made_;
  mutable std::unique_ptr<const GrammarVocabulary> grammar_vocabulary_;
};

// The token list that a reranker scores: by its "rerank" template, or query and document with the vocabulary's
// separators. Special tokens and placeholders inside the two are plain text.
//
// Errors: tokenize_failed.
Result<std::vector<Token>> rerank_input(const Model& model, std::string_view query, std::string_view document);

}  // namespace corral::engine
