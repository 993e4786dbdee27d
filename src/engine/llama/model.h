// The weights and the vocabulary: loaded once, shared by all workers, immutable after that, so safe on every thread.
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
  // What load() asks first. Errors: file_not_found.
  static Result<> check_file(const std::string& path);
  // All but the weights, which are laid out and never allocated: contexts of it can be measured, not used.
  static Result<std::shared_ptr<Model>> load_empty(const EngineLoadOptions& options);

  const ModelFacts& facts() const { return facts_; }
  ModelFacts& mutable_facts() { return facts_; }  // while loading: what only a context knows
  llama_model* handle() const { return model_.get(); }
  const llama_vocab* vocab() const { return vocab_; }
  const SamplingOptions& default_sampling() const { return default_sampling_; }

  // On a thread of its own if the text may need more stack than this one has.
  // Errors: tokenize_failed; input_too_long (pretokenizer.h); out_of_memory.
  Result<std::vector<Token>> tokenize(std::string_view text, bool add_special, bool parse_special) const;
  std::uint32_t size() const override { return facts_.n_vocab; }
  void append_piece(Token token, bool render_special, std::string& to) const override;
  bool valid(Token token) const { return token >= 0 && static_cast<std::uint32_t>(token) < facts_.n_vocab; }
  bool ends_generation(Token token) const override { return llama_vocab_is_eog(vocab_, token); }

  // For grammars. Made when first asked for, which takes some 50 ms.
  const GrammarVocabulary& grammar_vocabulary() const;
  // Tokens that end a generation.
  std::span<const Token> end_tokens() const { return end_tokens_; }
  // Tokens this model must never sample.
  std::span<const Token> suppressed_tokens() const { return suppressed_; }

  // What is remembered of tokens, and what can be done with it.
  MemoryFacts memory_facts() const;
  MemoryRules memory_rules() const { return rules_of(memory_kind(memory_facts())); }

  // The file has RoPE factors for short contexts and for long ones, and those of `n_ctx` tokens are long: in a smaller
  // one the same tokens get other KV.
  bool has_long_rope(std::uint32_t n_ctx) const;

  // Of f16 cells; a guess for unusual architectures.
  std::uint64_t kv_bytes_per_token() const;
  // Whether these adapters go with this model, which may be loaded empty. Takes their memory until the model goes.
  // Errors: file_not_found, unsupported, out_of_memory; all name "lora".
  Result<> check_adapters(const std::vector<LoraAdapter>& loras) { return add_adapters(loras); }
  // A context of this model computes with its adapters from now on; empty: as strong as the load says.
  void apply_adapters(llama_context* context, const AdapterScales& scales = {}) const;

  // What it was loaded from: one file, or all parts of a split set.
  std::vector<std::string> files() const;
  // Tells this state of these files from any other, by their paths, sizes and times, as they are now.
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
  AdapterScales adapter_scales_;               // that the load says
  mutable std::once_flag grammar_vocabulary_made_;
  mutable std::unique_ptr<const GrammarVocabulary> grammar_vocabulary_;
};

// The token list a reranker scores: its "rerank" template, or query and document with the vocabulary's separators.
// Special tokens and placeholders written in the two are text.
// Errors: tokenize_failed.
Result<std::vector<Token>> rerank_input(const Model& model, std::string_view query, std::string_view document);

}  // namespace corral::engine
