// Log probabilities of one row of logits, before any sampling option changed it. Pure functions; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

// Fills `to` with the n tokens of the largest logits (all if there are fewer), largest first, the lower number first
// among equals. One pass over the row that costs little more than reading it while n is small.
void most_likely(std::span<const float> logits, std::uint32_t n, std::vector<Token>& to);

// The logarithm of the sum of exp(logit) over the row; logit - this is a log probability. `largest` is the row's
// largest logit. Exact to about 1e-6.
float log_sum_exp(std::span<const float> logits, float largest);

}  // namespace corral::engine
