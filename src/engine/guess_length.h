// How many guesses a pass is worth, learnt from how many of the earlier ones were right. Pure. One thread.
//
// A guess counts only if all before it were right, so k guesses that are right with probability p each give
// 1 + p + ... + p^k tokens for the price of a longer pass. Taken is the k with the most tokens for the time; if none
// beats a pass without guesses, there are none, but now and then one is tried.
#pragma once

#include <cstdint>

namespace corral::engine {

// What guesses cost, in passes of one token.
struct GuessCosts {
  double any = 0;   // for a pass to have guesses at all
  double each = 0;  // for each of them
};

class GuessLength {
 public:
  // `rate`: how often a guess is right, as long as nothing is known.
  explicit GuessLength(GuessCosts costs, double rate = 0.5) : costs_(costs), rate_(rate) {}

  // Asked once for each pass that could have guesses: how many, at most `most`.
  std::uint32_t next(std::uint32_t most);
  // Of `drafted` guesses in a row the first `accepted` were right, and the one behind them, if there was one, wrong.
  void learn(std::uint32_t drafted, std::uint32_t accepted);
  // No guesses for a while, longer each time until one is right again.
  void rest();

  double rate() const { return rate_; }

 private:
  std::uint32_t worth(std::uint32_t most) const;

  GuessCosts costs_;
  double rate_;
  std::uint32_t waits_ = 0;  // passes until the next try
  std::uint32_t pause_ = 0;  // passes between the two latest tries
};

}  // namespace corral::engine
