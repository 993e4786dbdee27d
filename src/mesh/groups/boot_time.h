// Time for leases: CLOCK_BOOTTIME, which goes on while the machine is suspended, so that a machine that wakes up knows
// that its leases are over. A type of its own, as the steady clock stands still then and must not be given instead.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace corral::mesh {

// Who runs a group reads the clock and passes the time on; nothing below does.
struct BootClock {
  using duration = Millis;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = BootClock::time_point;

}  // namespace corral::mesh
