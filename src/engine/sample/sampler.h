// Picks the next token of one generation: libllama's sampler chain in llama-server's order, corral's own grammars
// (engine/grammar/) applied as in llama-server, and a short cut for plain greedy decoding. One generation each; made on
// any thread, used on one at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/grammar/follower.h"
#include "engine/kv/token_table.h"
#include "engine/llama/model.h"
#include "engine/sample/logits.h"
#include "engine/sample/sampler_chain.h"
#include "engine/sample/token_window.h"
#include "engine/values/options.h"

namespace corral::engine {

// State that all choices with this grammar share; takes milliseconds. Errors: invalid_argument with `grammar` (line,
// column and rule) or `grammar_triggers`.
Result<std::shared_ptr<const SharedGrammar>> make_grammar(const Model& model, const GrammarOptions& options);

class Sampler final : public TokenPicker {
 public:
  // n_ctx: most tokens of the history; penalties and DRY look back no further, and this far for -1. Errors:
  // invalid_argument with the option's name.
  static Result<std::unique_ptr<Sampler>> make(const SamplerVocab& vocab, const SamplingOptions& options,
                                               std::shared_ptr<const SharedGrammar> grammar, std::uint32_t n_ctx);
  static Result<std::unique_ptr<Sampler>> make(const Model& model, const SamplingOptions& options,
                                               const std::optional<GrammarOptions>& grammar, std::uint32_t n_ctx);

  // The tokens before the first one sampled: penalties look back at them.
  void prime(std::span<const Token> history) override;
  // One token from n_vocab logits. Errors: decode_failed (logits that are no numbers, or a grammar that allows
  // nothing).
  Result<Token> sample(const float* logits) override;
  bool takes_long() const override { return !plain_greedy_ && short_list_ == 0; }
  Drawn drawn(std::uint32_t n) override;

  bool plain_greedy() const { return plain_greedy_; }

 private:
  explicit Sampler(std::uint32_t n_vocab) : n_vocab_(n_vocab) {}
  Result<Token> sample_greedy(const float* logits);
  Result<Token> sample_chain(const float* logits);
  bool fill(const float* logits);
  bool fill_short(const float* logits);
  std::optional<Token> pick();

  const std::uint32_t n_vocab_;
  bool plain_greedy_ = false;
  Token largest_ = kNoToken;  // latest token of plain greedy decoding
  std::vector<LogitBias> biases_;
  std::vector<Token> biased_;     // their tokens, sorted, each once
  std::uint32_t short_list_ = 0;  // the chain first keeps so many of the largest logits; 0: it needs the whole row
  TokenWindow window_;            // of the history, as far back as the chain looks
  OwnedSampler chain_;            // none if plain_greedy_
  std::optional<GrammarFollower> grammar_;
  PreselectScratch scratch_;
  std::vector<Token> changed_;  // biased_ and the window's together
  std::vector<llama_token_data> candidates_;
  llama_token_data_array array_{};
};

}  // namespace corral::engine
