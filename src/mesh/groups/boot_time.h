// Time for leases: CLOCK_BOOTTIME, which continues while the machine is suspended, so that after the suspend its leases
// are over. A type of its own, because the steady clock stops during a suspend and must not be used instead.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace corral::mesh {

// The runner of a group reads the clock and passes the time on; the core of groups never reads it.
struct BootClock {
  using duration = Millis;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

}  // namespace corral::mesh
