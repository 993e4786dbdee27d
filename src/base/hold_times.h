// Durations for which places are held, to predict when one is free again. A plain value; the caller provides times.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace corral {

class HoldTimes {
 public:
  // Records the duration of a released place. The last dozen or so determine the mean.
  void ended(MonoClock::duration held) {
    constexpr double kWeight = 1.0 / 8;
    const double seconds = std::chrono::duration<double>(held).count();
    mean_ = known_ ? mean_ + (seconds - mean_) * kWeight : seconds;
    known_ = true;
  }
  // Predicted time until `wanted` of `held` places are released, the oldest of which is held since `oldest`. Between a
  // second and ten minutes; a second without records.
  std::chrono::seconds until_free(std::size_t wanted, std::size_t held, MonoClock::duration oldest) const {
    const double age = std::chrono::duration<double>(oldest).count();
    // A place that is held longer than the mean may be released at any time.
    const double first =
        known_ && mean_ > age ? mean_ - age : mean_ / static_cast<double>(std::max<std::size_t>(held, 1));
    const double more =
        wanted > 1 ? mean_ * static_cast<double>(wanted - 1) / static_cast<double>(std::max<std::size_t>(held, 1)) : 0;
    const auto seconds =
        std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double>(std::min(first + more, 600.0)));
    return std::max(seconds, std::chrono::seconds(1));
  }

 private:
  double mean_ = 0;  // seconds
  bool known_ = false;
};

}  // namespace corral
