#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

// Shares `budget` between prompts, given in the order of age; amounts by position.
std::vector<std::uint32_t> share_prefill(const std::vector<std::uint32_t>& pending, std::uint32_t budget) {
  std::vector<std::uint32_t> share(pending.size(), 0);
  if (pending.empty() || budget == 0) return share;
  share[0] = std::min(pending[0], std::max(budget / 2, pending.size() == 1 ? budget : 1));
  budget -= share[0];

  // Equal parts, smallest need first, so that what a small one leaves is shared by all that follow.
  std::vector<std::size_t> by_need;
  for (std::size_t i = 1; i < pending.size(); ++i) by_need.push_back(i);
  std::ranges::sort(by_need, {}, [&](std::size_t i) { return std::pair(pending[i], i); });
  for (std::size_t k = 0; k < by_need.size(); ++k) {
    const auto left = static_cast<std::uint32_t>(by_need.size() - k);
    share[by_need[k]] = std::min(pending[by_need[k]], budget / left);
    budget -= share[by_need[k]];
  }
  for (std::size_t i = 0; i < pending.size() && budget > 0; ++i) {
    const std::uint32_t more = std::min(pending[i] - share[i], budget);
    share[i] += more;
    budget -= more;
  }
  return share;
}

}  // namespace

std::vector<BatchItem> plan_batch(std::span<const RunnableView> sessions, const BatchLimits& limits) {
  std::vector<BatchItem> plan;
  std::uint32_t tokens = limits.tokens, outputs = limits.outputs;
  std::vector<std::uint32_t> prompts;
  for (std::uint32_t i = 0; i < sessions.size(); ++i) {
    if (!sessions[i].decoding) {
      prompts.push_back(i);
    } else if (tokens > 0 && outputs > 0) {
      plan.push_back({i, 1, true});
      --tokens;
      --outputs;
    }
  }
  if (!plan.empty()) tokens = std::min(tokens, limits.prefill);

  std::ranges::sort(prompts, {}, [&](std::uint32_t i) { return std::pair(sessions[i].order, i); });
  std::vector<std::uint32_t> pending;
  for (const std::uint32_t i : prompts) pending.push_back(sessions[i].pending);
  const std::vector<std::uint32_t> share = share_prefill(pending, tokens);
  for (std::size_t k = 0; k < prompts.size(); ++k) {
    std::uint32_t amount = share[k];
    bool output = amount == pending[k];
    if (output && outputs == 0) {  // all but the last token now, the last one with a later pass
      --amount;
      output = false;
    }
    if (amount == 0) continue;
    if (output) --outputs;
    plan.push_back({prompts[k], amount, output});
  }
  return plan;
}

void PrefillPace::observe(std::uint32_t tokens, std::uint32_t prefill, double ms) {
  if (prefill < kFloor || tokens == 0) return;  // a few tokens tell little: the pass reads all weights anyway
  const double sample = ms / tokens;
  ms_per_token_ = ms_per_token_ == 0 ? sample : 0.7 * ms_per_token_ + 0.3 * sample;
}

std::uint32_t PrefillPace::allowance(double target_ms, std::uint32_t limit) const {
  if (ms_per_token_ <= 0) return limit;
  const double fits = target_ms / ms_per_token_;
  return fits >= limit ? limit : std::max(std::min(kFloor, limit), static_cast<std::uint32_t>(fits));
}

}  // namespace corral::engine
