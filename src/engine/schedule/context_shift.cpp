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

std::optional<ContextCut> around_media(ContextCut cut, std::span<const MediaSpan> media, std::uint32_t end) {
  std::uint32_t behind = cut.keep + cut.discard;
  cut.keep = outside_media(media, cut.keep);
  if (const std::size_t i = span_behind(media, behind); i < media.size() && media[i].begin < behind)
    behind = media[i].end();
  if (behind > end) return std::nullopt;
  cut.discard = behind - cut.keep;
  return cut;
}

void cut_media(std::vector<MediaSpan>& media, const ContextCut& cut) {
  std::erase_if(media,
                [&](const MediaSpan& span) { return span.begin >= cut.keep && span.begin < cut.keep + cut.discard; });
  for (MediaSpan& span : media) {
    if (span.begin >= cut.keep) span.begin -= cut.discard;
  }
}

}  // namespace corral::engine
