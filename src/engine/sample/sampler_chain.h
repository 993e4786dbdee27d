// libllama's sampler chain for one generation, in the order of its options, as llama-server builds it. Pure making of
// objects; safe on every thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <llama.h>

#include "engine/values/options.h"
#include "engine/values/types.h"

namespace corral::engine {

// Facts of a model that a sampler needs.
struct SamplerVocab {
  std::uint32_t n_vocab = 0;
  const llama_vocab* vocab = nullptr;      // for DRY only
  std::span<const Token> end_tokens;       // forbidden by ignore_eos
  std::span<const Token> suppressed = {};  // never sampled
};

struct FreeSampler {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using OwnedSampler = std::unique_ptr<llama_sampler, FreeSampler>;

struct SamplerChain {
  OwnedSampler chain;
  std::uint32_t window = 0;  // tokens of the history that it looks back at
  // The chain first keeps so many of the largest logits, after penalties: no other token can be chosen. 0: it needs the
  // whole row.
  std::uint32_t keeps = 0;
};

// `o` has been checked; its look-back options have no -1.
SamplerChain make_chain(const SamplerVocab& vocab, const SamplingOptions& o);

// With these options the chain always chooses the largest logit.
bool is_plain_greedy(const SamplingOptions& o);

}  // namespace corral::engine
