// A rate limit with a burst. A plain value without a clock.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace corral::mesh {

struct RateLimit {
  double each_second = 1;
  double at_once = 1;
};

class TokenBucket {
 public:
  explicit TokenBucket(RateLimit pace) : pace_(pace), left_(pace.at_once) {}

  // Takes `count` if there are so many, otherwise none.
  bool take(MonoTime now, double count = 1) {
    if (last_ != MonoTime()) left_ = std::min(pace_.at_once, left_ + seconds_between(last_, now) * pace_.each_second);
    last_ = now;
    if (left_ < count) return false;
    left_ -= count;
    return true;
  }

 private:
  RateLimit pace_;
  double left_;
  MonoTime last_{};
};

}  // namespace corral::mesh
