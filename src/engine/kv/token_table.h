// Interfaces for the vocabulary and for sampling. Model and Sampler implement them; the simulation has its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/values/types.h"

namespace corral::engine {

// Immutable, so safe on every thread.
class TokenTable {
 public:
  virtual ~TokenTable() = default;
  virtual std::uint32_t size() const = 0;
  // Appends the token's bytes.
  virtual void append_piece(Token token, bool render_special, std::string& to) const = 0;
  virtual bool ends_generation(Token token) const = 0;
};

struct TokenProbability {
  Token token = kNoToken;
  float probability = 0;
};
struct Drawn {
  float probability = 1;
  std::vector<TokenProbability> top = {};
};

// Picks the next token of one generation. Used on one thread at a time.
class TokenPicker {
 public:
  virtual ~TokenPicker() = default;
  // The tokens before the first one picked.
  virtual void prime(std::span<const Token> history) = 0;
  // One token from the logits of the whole vocabulary. Errors: decode_failed.
  virtual Result<Token> sample(const float* logits) = 0;
  // Sampling takes milliseconds, so that several sessions should sample in parallel.
  virtual bool takes_long() const { return false; }
  // Distribution of the last sampled token, after all sampling options: its probability, and the n likeliest
  // candidates, likeliest first, without those of probability 0.
  virtual Drawn drawn(std::uint32_t n) = 0;
};

}  // namespace corral::engine
