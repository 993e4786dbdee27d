#include "base/context_size.h"

#include <algorithm>
#include <limits>

namespace corral {
namespace {

constexpr std::uint64_t kMax = 1u << 30;
// libllama rounds the number of KV cells up to a multiple of this.
constexpr std::uint64_t kMultiple = 256;

// Tokens for which numerator / denominator of the free memory suffices, in the tightest memory pool.
std::uint64_t room(std::span<const ContextMemory> memory, std::uint64_t numerator, std::uint64_t denominator) {
  std::uint64_t tokens = kMax;
  for (const ContextMemory& one : memory) {
    if (one.per_token > 0) tokens = std::min(tokens, one.free / denominator * numerator / one.per_token);
  }
  return tokens;
}

// The largest number up to `tokens` that is a power of two or 1.5 times one.
std::uint64_t step_below(std::uint64_t tokens) {
  std::uint64_t power = kFirstContext;
  while (power * 2 <= tokens) power *= 2;
  return power + power / 2 <= tokens ? power + power / 2 : power;
}

std::uint64_t rounded_up(std::uint64_t tokens) { return (tokens + kMultiple - 1) / kMultiple * kMultiple; }

}  // namespace

std::uint32_t automatic_context(std::uint64_t trained, std::span<const ContextMemory> memory) {
  const std::uint64_t max = trained == 0 ? kFirstContext : std::min(trained, kMax);
  const std::uint64_t half = room(memory, 1, 2), agent = std::min<std::uint64_t>(kAgentContext, room(memory, 3, 4));
  const std::uint64_t tokens = std::max(half, agent);
  if (memory.empty() || tokens <= kFirstContext)
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(max, kFirstContext));
  return static_cast<std::uint32_t>(tokens >= max ? max : step_below(tokens));
}

std::uint32_t grown_context(std::uint32_t now, std::uint32_t needed, std::uint32_t max,
                            std::span<const ContextMemory> memory) {
  if (needed <= now || needed > max) return now;
  const std::uint64_t both = room(memory, 7, 8);
  const auto fits = [&](std::uint64_t tokens) { return tokens + now <= both; };
  std::uint64_t doubled = std::max<std::uint64_t>(now, 1);
  while (doubled < needed) doubled *= 2;
  doubled = std::min<std::uint64_t>(rounded_up(doubled), std::max<std::uint64_t>(max, needed));
  if (fits(doubled)) return static_cast<std::uint32_t>(doubled);
  const std::uint64_t little = std::min<std::uint64_t>(rounded_up(needed + needed / 8), max);
  return static_cast<std::uint32_t>(little >= needed && fits(little) ? little : now);
}

}  // namespace corral
