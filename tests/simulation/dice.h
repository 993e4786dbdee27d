// What happens in a simulated life, by lot from its seed.
#pragma once

#include "base/split_mix.h"

namespace corral::simulation {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t next() { return numbers_.next(); }
  // 0 ... sides - 1
  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(next() % sides); }
  bool chance(std::uint32_t percent) { return roll(100) < percent; }

 private:
  SplitMix numbers_;
};

}  // namespace corral::simulation
