// The minimum rate of a peer: a time budget, with credit for the bytes that it moves. Only time spent waiting for the
// peer counts, so a slow producer on our side costs the peer nothing. Plain values; the caller provides the clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace corral::http {

struct MinRate {
  Millis grace{0};
  // Moved bytes earn time at this rate, up to the grace. 0: they earn none, and the grace is the total.
  std::uint64_t bytes_per_second = 0;
};

inline constexpr MinRate kNoMinRate{std::chrono::hours(24 * 365), 0};

class MinRateMeter {
 public:
  void restart(const MinRate& rule) {
    rule_ = rule;
    left_ = rule.grace;
    moved_ = 0;
  }
  void moved(std::uint64_t bytes) { moved_ += bytes; }
  // Adds waiting time. False: the budget is spent.
  bool waited(MonoClock::duration passed) {
    if (rule_.bytes_per_second > 0) {
      // Nanoseconds of one byte are rounded down to a whole number; no rate is near one byte a nanosecond.
      const std::uint64_t max = static_cast<std::uint64_t>(MonoClock::duration(rule_.grace).count());
      const std::uint64_t each = std::max<std::uint64_t>(1'000'000'000 / rule_.bytes_per_second, 1);
      const auto earned = MonoClock::duration(moved_ > max / each ? max : moved_ * each);
      left_ = std::min(left_ + earned, MonoClock::duration(rule_.grace));
    }
    moved_ = 0;
    left_ -= passed;
    return left_ > MonoClock::duration::zero();
  }

 private:
  MinRate rule_ = kNoMinRate;
  MonoClock::duration left_ = kNoMinRate.grace;
  std::uint64_t moved_ = 0;  // since the last waited()
};

}  // namespace corral::http
