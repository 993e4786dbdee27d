// Which of the waiting inputs of an embedding model share the next forward pass: a pure function.
//
// ggml's attention on CPUs computes passes of 64 tokens and more in another way than smaller ones, so what shares a
// pass changes an embedding in the fourth to fifth digit. Two rules keep a request's numbers the same whatever else is
// asked, and the same as llama-server's for the same request:
//   - the inputs of one request are computed in groups of up to four and up to 512 tokens, in their order;
//   - groups of several requests share a pass only if all of it stays below 64 tokens, where that makes no difference.
// On a GPU, whose kernels have no such border, as much as fits goes into a pass.
#pragma once

#include <cstdint>
#include <span>

namespace corral::engine {

struct PooledView {
  std::uint64_t request = 0;  // inputs of one request stand together
  std::uint32_t tokens = 0;
};

struct PooledLimits {
  std::uint32_t tokens = 2048;  // of one pass; no input is longer
  std::uint32_t inputs = 32;    // of one pass
  bool alike = true;            // keep to the two rules
};

// The first so many of the waiting inputs go into the next pass; at least one if one waits.
std::size_t plan_pooled_pass(std::span<const PooledView> waiting, const PooledLimits& limits);

}  // namespace corral::engine
