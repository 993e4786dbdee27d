#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

// Assumed cost of a token in a large chunk, relative to a small one, until measured.
constexpr double kLargeRatio = 0.6;
// Passes with small chunks after which a large one is tried again.
constexpr std::uint32_t kForgotten = 500;

// Divides `budget` between prompts, given in the order of age; amounts by position.
std::vector<std::uint32_t> share_prefill(const std::vector<std::uint32_t>& pending, std::uint32_t budget) {
  std::vector<std::uint32_t> share(pending.size(), 0);
  if (pending.empty() || budget == 0) return share;
  share[0] = std::min(pending[0], std::max(budget / 2, pending.size() == 1 ? budget : 1));
  budget -= share[0];

  std::vector<std::size_t> by_need;
  for (std::size_t i = 1; i < pending.size(); ++i) by_need.push_back(i);
  std::ranges::sort(by_need, {}, [&](std::size_t i) { return std::pair(pending[i], i); });
  for (const std::size_t i : by_need) {
    share[i] = std::min(pending[i], budget);
    budget -= share[i];
  }
  share[0] += std::min(pending[0] - share[0], budget);
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
  pending.reserve(prompts.size());
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

bool wants_even_steps(std::span<const RunnableView> sessions, std::uint32_t long_prompt) {
  return std::ranges::any_of(
      sessions, [&](const RunnableView& session) { return session.settled || session.pending >= long_prompt; });
}

void PrefillPacer::observe(const Pass& pass) {
  const auto learn = [](double& known, double sample) { known = known == 0 ? sample : 0.8 * known + 0.2 * sample; };
  // A few tokens give little information: the pass reads all weights anyway.
  if (pass.prefill < kFloor) return;
  const double alone = std::min(pass.decode_ms, pass.ms);
  const double each = (pass.ms - alone) / pass.prefill;
  if (pass.prefill >= kLarge) {
    learn(large_ms_, each);
    large_age_ = 0;
  } else {
    learn(small_ms_, each);
    if (++large_age_ > kForgotten) large_ms_ = 0;
  }
}

std::uint32_t PrefillPacer::allowance(std::uint32_t decoding, double decode_ms, std::uint32_t prompts, double max_ms,
                                      std::uint32_t limit) const {
  if (small_ms_ <= 0 && large_ms_ <= 0) return std::min(kFirstAllowance, limit);
  const double small = small_ms_ > 0 ? small_ms_ : large_ms_;
  const double large = large_ms_ > 0 ? large_ms_ : kLargeRatio * small;
  const double single = decode_ms > 0 ? std::min(decode_ms * (kStretch - 1), max_ms) : max_ms;
  const double crowd = std::max(1.0, kCrowd * (std::max(prompts, 1u) - 1) / std::max(1u, decoding));
  double fits = single * crowd / small;
  if (const double more = single * crowd / large; more >= kLarge) fits = std::max(fits, more);
  if (fits >= limit) return limit;
  // Whole tiles, to the nearest.
  const std::uint32_t tiles = (decoding + static_cast<std::uint32_t>(fits) + kTile / 2) / kTile;
  std::uint32_t whole = std::max(1u, tiles) * kTile;
  while (whole < decoding + kFloor) whole += kTile;
  return std::min(whole - decoding, limit);
}

}  // namespace corral::engine
