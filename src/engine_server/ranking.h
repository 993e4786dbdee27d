// The order of reranked documents. Pure. Internal to engine_server/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/answers/answers.h"

namespace corral::engine_server {

// The best `top_n` (none: all), best first, equal scores in their order. Ranked by raw scores: mapped to 0..1, which is
// the result unless `raw`, good documents are hardly apart.
std::vector<protocol::RankedDocument> rank(std::span<const float> scores, std::optional<std::uint32_t> top_n, bool raw);

}  // namespace corral::engine_server
