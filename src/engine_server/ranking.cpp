#include "engine_server/ranking.h"

#include <algorithm>
#include <cmath>

namespace corral::engine_server {

std::vector<protocol::RankedDocument> rank(std::span<const float> scores, std::optional<std::uint32_t> top_n,
                                           bool raw) {
  std::vector<protocol::RankedDocument> ranked;
  ranked.reserve(scores.size());
  for (std::uint32_t i = 0; i < scores.size(); ++i) ranked.push_back({i, scores[i]});
  std::ranges::sort(ranked, [](const protocol::RankedDocument& a, const protocol::RankedDocument& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  });
  if (top_n && *top_n < ranked.size()) ranked.resize(*top_n);
  if (raw) return ranked;
  for (auto& document : ranked) document.score = 1 / (1 + std::exp(-document.score));
  return ranked;
}

}  // namespace corral::engine_server
