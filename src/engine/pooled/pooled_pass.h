// Which of the waiting inputs of an embedding model share the next forward pass: a pure function.
//
// ggml's attention on CPUs computes passes of 64 tokens and more in another way than smaller ones, so what shares a
// pass changes an embedding in the fourth to fifth digit. Two rules keep a request's numbers the same whatever else is
// asked, and the same as llama-server's for the same request:
//   - the inputs of one request are computed in groups of up to four and up to 512 tokens, in their order;
//   - groups of several requests share a pass only if all of it stays below 64 tokens, where that makes no difference.
// On a GPU, whose kernels have no such border, as much as fits goes into a pass.
//
// Requests take turns: a pass begins with the next group of the first one, then comes a group of each other one that
// fits, and round again. Whose turn it is says who calls (pooled_turns.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

// The inputs of a request that are not computed yet, in their order; at least one.
using PooledView = std::span<const std::vector<Token>>;

struct PooledLimits {
  std::uint32_t tokens = 2048;  // of one pass; no input is longer
  std::uint32_t inputs = 32;    // of one pass
  bool alike = true;            // keep to the two rules
};

// So many of each request's next inputs go into the pass, by position; of the first one at least one.
std::vector<std::uint32_t> plan_pooled_pass(std::span<const PooledView> requests, const PooledLimits& limits);

}  // namespace corral::engine
