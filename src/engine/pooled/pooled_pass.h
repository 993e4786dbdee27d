// Which of the waiting inputs of an embedding model share the next forward pass: a pure function.
//
// ggml's attention on CPUs computes passes of 64 tokens and more in another way than smaller ones, so the inputs of a
// pass change an embedding in the fourth to fifth digit. Two rules keep the numbers of a request independent of other
// requests, and equal to llama-server's:
//   - The inputs of one request are computed in groups of up to four and up to 512 tokens, in their order.
//   - Groups of several requests share a pass only if all of it stays below 64 tokens, where that makes no difference.
// On a GPU, whose kernels have no such threshold, a pass has as many inputs as fit.
//
// Requests take turns: a pass has the next group of the first request, then a group of each other request that fits,
// then their next groups. The caller orders the requests (pooled_turns.h).
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

// Number of the next inputs of each request that go into the pass, by position; at least one of the first request.
std::vector<std::uint32_t> plan_pooled_pass(std::span<const PooledView> requests, const PooledLimits& limits);

}  // namespace corral::engine
