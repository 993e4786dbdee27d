#include "engine/schedule/context_shift.h"

#include <algorithm>

namespace corral::engine {

std::optional<ContextCut> context_cut(const ContextShift& wanted, const FullContext& full) {
  constexpr std::uint64_t kSpare = 4;  // tokens that can always be discarded
  const std::uint64_t asked = wanted.keep < 0 ? full.prompt : static_cast<std::uint64_t>(wanted.keep);
  const std::uint64_t max = full.n_ctx - std::min<std::uint64_t>(full.n_ctx, kSpare);
  const std::uint64_t keep = std::min(asked + (wanted.keep_bos ? 1 : 0), max);
  const std::uint64_t left = full.cached - std::min<std::uint64_t>(full.cached, keep);
  const std::uint64_t behind = std::max<std::uint64_t>(1, full.held);
  if (left <= behind) return std::nullopt;
  const std::uint64_t discard = wanted.discard > 0 ? wanted.discard : left / 2;
  return ContextCut{.keep = static_cast<std::uint32_t>(keep),
                    .discard = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(discard, 1, left - behind))};
}

}  // namespace corral::engine
