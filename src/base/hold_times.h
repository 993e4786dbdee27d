// How long places are held: when one is likely to be free again. A plain value; times are the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace corral {

class HoldTimes {
 public:
  // Another place was given back, that was held so long. The last dozen or so count.
  void ended(MonoClock::duration held) {
    constexpr double kWeight = 1.0 / 8;
    const double seconds = std::chrono::duration<double>(held).count();
    mean_ = known_ ? mean_ + (seconds - mean_) * kWeight : seconds;
    known_ = true;
  }
  // Until `wanted` of `held` places are given back, the oldest of which is held since `oldest`. Between a second and
  // ten minutes; a second where nothing is known yet.
  std::chrono::seconds until_free(std::size_t wanted, std::size_t held, MonoClock::duration oldest) const {
    const double age = std::chrono::duration<double>(oldest).count();
    // Who is late already is as likely to end now as at any time.
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
