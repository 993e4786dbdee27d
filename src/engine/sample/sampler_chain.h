// libllama's sampler chain for one generation, in the order that its options ask for and with llama-server's ways.
// Pure making of objects; safe on every thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <llama.h>

#include "engine/values/options.h"
#include "engine/values/types.h"

namespace corral::engine {

// What a sampler wants to know of a model.
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
  // It begins by keeping so many of the largest logits, penalties aside: no other token can come out. 0: it wants the
  // whole row.
  std::uint32_t keeps = 0;
};

// `o` has been checked; what looks back has no -1 any more.
SamplerChain make_chain(const SamplerVocab& vocab, const SamplingOptions& o);

// With these options the chain ends in the largest logit whatever it does on the way.
bool is_plain_greedy(const SamplingOptions& o);

}  // namespace corral::engine
