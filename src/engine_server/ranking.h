// The order of reranked documents. Pure. Internal to engine_server/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/answers.h"

namespace corral::engine_server {

// The best `top_n` (none: all), best first, those with the same score in their order. Ranked by what the model says:
// between 0 and 1, where scores are wanted if not `raw`, those of good documents are hardly apart.
std::vector<protocol::RankedDocument> rank(std::span<const float> scores, std::optional<std::uint32_t> top_n, bool raw);

}  // namespace corral::engine_server
