// Random times for back-offs, so that two hosts don't collide again.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/split_mix.h"

namespace corral::mesh {

class BackoffJitter {
 public:
  explicit BackoffJitter(std::uint64_t seed) : numbers_(seed) {}

  // From `min` to `max`.
  std::chrono::milliseconds between(std::chrono::milliseconds min, std::chrono::milliseconds max) {
    const auto span = static_cast<std::uint64_t>((max - min).count()) + 1;
    return min + std::chrono::milliseconds(static_cast<std::int64_t>(numbers_.next() % span));
  }

 private:
  SplitMix numbers_;
};

}  // namespace corral::mesh
