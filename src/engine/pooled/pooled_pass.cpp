#include "engine/pooled/pooled_pass.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr std::uint32_t kAlikeTokens = 63;   // one less than the rows of ggml's attention tile
constexpr std::uint32_t kGroupInputs = 4;    // llama-server's default number of slots
constexpr std::uint32_t kGroupTokens = 512;  // and its default batch for embeddings

struct Group {
  std::uint32_t inputs = 0;
  std::uint32_t tokens = 0;
};

// The next group of inputs of a request; empty if none is left.
Group next_group(PooledView waiting, const PooledLimits& limits) {
  const auto max_inputs = limits.alike ? std::min(kGroupInputs, limits.inputs) : 1;
  const std::uint32_t max_tokens = std::min(kGroupTokens, limits.tokens);
  Group group;
  for (const std::vector<Token>& input : waiting) {
    const auto tokens = static_cast<std::uint32_t>(input.size());
    if (group.inputs == max_inputs || (group.inputs > 0 && group.tokens + tokens > max_tokens)) break;
    ++group.inputs;
    group.tokens += tokens;
  }
  return group;
}

}  // namespace

std::vector<std::uint32_t> plan_pooled_pass(std::span<const PooledView> requests, const PooledLimits& limits) {
  std::vector<std::uint32_t> taken(requests.size(), 0);
  const std::uint32_t max = limits.alike ? std::min(kAlikeTokens, limits.tokens) : limits.tokens;
  std::uint32_t inputs = 0, tokens = 0;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < requests.size() && inputs < limits.inputs; ++i) {
      const Group group = next_group(requests[i].subspan(taken[i]), limits);
      if (group.inputs == 0) continue;
      const bool fits = tokens + group.tokens <= max && inputs + group.inputs <= limits.inputs;
      if (inputs > 0 && !fits) continue;
      taken[i] += group.inputs;
      inputs += group.inputs;
      tokens += group.tokens;
      more = tokens < max;
    }
  }
  return taken;
}

}  // namespace corral::engine
