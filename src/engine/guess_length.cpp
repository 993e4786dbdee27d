#include "engine/guess_length.h"

#include <algorithm>

namespace corral::engine {
namespace {

// How much one guess counts against all before it.
constexpr double kWeight = 0.2;
constexpr std::uint32_t kFirstPause = 16, kLongestPause = 256;

}  // namespace

std::uint32_t GuessLength::worth(std::uint32_t most) const {
  std::uint32_t best = 0;
  double best_speed = 1, tokens = 1, right = 1;
  for (std::uint32_t guesses = 1; guesses <= most; ++guesses) {
    right *= rate_;
    tokens += right;
    const double speed = tokens / (1 + costs_.any + costs_.each * guesses);
    if (speed <= best_speed) continue;
    best_speed = speed;
    best = guesses;
  }
  return best;
}

std::uint32_t GuessLength::next(std::uint32_t most) {
  if (waits_ > 0) {
    --waits_;
    return 0;
  }
  return std::min(most, std::max(1u, worth(most)));
}

void GuessLength::learn(std::uint32_t drafted, std::uint32_t accepted) {
  if (drafted == 0) return;
  for (std::uint32_t i = 0; i < accepted; ++i) rate_ += kWeight * (1 - rate_);
  if (accepted > 0) pause_ = 0;
  if (accepted < drafted) rate_ -= kWeight * rate_;
  // What can be won must be looked at for a long guess: the rate may be too low for a single one already.
  constexpr std::uint32_t kFar = 64;
  if (worth(kFar) == 0) rest();
}

void GuessLength::rest() {
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  waits_ = pause_;
}

}  // namespace corral::engine
