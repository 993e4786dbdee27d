#include "engine/pooled_pass.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr std::uint32_t kAlikeTokens = 63;   // one less than the rows of ggml's attention tile
constexpr std::size_t kGroupInputs = 4;      // llama-server's default number of slots
constexpr std::uint32_t kGroupTokens = 512;  // and its default batch for embeddings

struct Group {
  std::size_t inputs = 0;
  std::uint32_t tokens = 0;
};

Group first_group(std::span<const PooledView> waiting, std::size_t most_inputs, std::uint32_t most_tokens) {
  Group group;
  for (const PooledView& input : waiting) {
    const bool another = input.request != waiting.front().request || group.inputs == most_inputs;
    if (group.inputs > 0 && (another || group.tokens + input.tokens > most_tokens)) break;
    ++group.inputs;
    group.tokens += input.tokens;
  }
  return group;
}

}  // namespace

std::size_t plan_pooled_pass(std::span<const PooledView> waiting, const PooledLimits& limits) {
  std::size_t inputs = 0;
  std::uint32_t tokens = 0;
  while (inputs < waiting.size()) {
    const Group group = limits.alike
                            ? first_group(waiting.subspan(inputs), std::min<std::size_t>(kGroupInputs, limits.inputs),
                                          std::min(kGroupTokens, limits.tokens))
                            : Group{1, waiting[inputs].tokens};
    const std::uint32_t most = limits.alike ? std::min(kAlikeTokens, limits.tokens) : limits.tokens;
    if (inputs > 0 && (tokens + group.tokens > most || inputs + group.inputs > limits.inputs)) break;
    inputs += group.inputs;
    tokens += group.tokens;
  }
  return inputs;
}

}  // namespace corral::engine
