// How slow a peer may be: a total with a credit for what it moves. Only time in which it is waited for counts, so that
// nobody pays for a slow producer on our side. Plain values; the clock is the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace corral::http {

struct MinRate {
  Millis grace{0};
  // What moves buys time at this rate, up to the grace again. 0: nothing does, the grace is all there is.
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
  // So much more was spent waiting. False when that was too much.
  bool waited(MonoClock::duration passed) {
    if (rule_.bytes_per_second > 0) {
      // Nanoseconds of one byte are rounded down to a whole number; no rate is near one byte a nanosecond.
      const std::uint64_t most = static_cast<std::uint64_t>(MonoClock::duration(rule_.grace).count());
      const std::uint64_t each = std::max<std::uint64_t>(1'000'000'000 / rule_.bytes_per_second, 1);
      const auto earned = MonoClock::duration(moved_ > most / each ? most : moved_ * each);
      left_ = std::min(left_ + earned, MonoClock::duration(rule_.grace));
    }
    moved_ = 0;
    left_ -= passed;
    return left_ > MonoClock::duration::zero();
  }

 private:
  MinRate rule_ = kNoMinRate;
  MonoClock::duration left_ = kNoMinRate.grace;
  std::uint64_t moved_ = 0;  // since the last waiting
};

}  // namespace corral::http
