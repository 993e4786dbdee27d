// Time as an object that is passed in, so that tests control it. Durations for decisions come from the monotonic clock;
// the wall clock is for display only.
#pragma once

#include <chrono>

namespace corral {

using MonoClock = std::chrono::steady_clock;
using MonoTime = MonoClock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Millis = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime now() const = 0;
  virtual WallTime wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  MonoTime now() const override { return MonoClock::now(); }
  WallTime wall_now() const override { return std::chrono::system_clock::now(); }
};

inline double seconds_between(MonoTime from, MonoTime to) { return std::chrono::duration<double>(to - from).count(); }

inline std::int64_t epoch_millis(WallTime time) {
  return std::chrono::duration_cast<Millis>(time.time_since_epoch()).count();
}

}  // namespace corral
