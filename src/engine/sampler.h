// Picks the next token of one generation: libllama's sampler chain in llama-server's order and with its handling of
// grammars, and a short cut for plain greedy decoding. One generation each; made on any thread, used on one at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/model.h"
#include "engine/options.h"
#include "engine/token_table.h"

namespace corral::engine {

class Sampler final : public TokenPicker {
 public:
  // Errors: invalid_argument with the option's name.
  static Result<std::unique_ptr<Sampler>> make(const Model& model, const SamplingOptions& options,
                                               const std::optional<GrammarOptions>& grammar);

  // The tokens before the first one sampled: penalties look back at them.
  void prime(std::span<const Token> history) override;
  // One token from n_vocab logits. Errors: decode_failed (logits that are no numbers, or a grammar that allows
  // nothing).
  Result<Token> sample(const float* logits) override;

  bool plain_greedy() const { return plain_greedy_; }

 private:
  explicit Sampler(const Model& model) : n_vocab_(model.facts().n_vocab) {}
  Result<Token> sample_greedy(const float* logits) const;
  void fill(const float* logits);
  Result<Token> sample_chain(const float* logits);

  struct Free {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
  };
  using Owned = std::unique_ptr<llama_sampler, Free>;

  const std::uint32_t n_vocab_;
  bool plain_greedy_ = false;
  std::vector<Token> forbidden_;  // sorted; for plain greedy, where the chain would have a bias of -infinity
  std::uint32_t look_back_ = 0;   // tokens of the history the chain wants
  Owned chain_;                   // none if plain_greedy_
  Owned grammar_;
  std::vector<llama_token_data> candidates_;
  llama_token_data_array array_{};
};

// Index of the largest of n values, the first of equals. NaN is never the largest.
std::uint32_t argmax(const float* values, std::uint32_t n);

}  // namespace corral::engine
