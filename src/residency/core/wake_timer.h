// When the core needs to be called again although nothing happens (WakeAt): the end of a deadline, patience, timeout.
#pragma once

#include <optional>

#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class WakeTimer {
 public:
  explicit WakeTimer(const State& state) : state_(state) {}

  // Moves the timer, if it is at another time than needed.
  void plan(const Step& step);
  // The last request on this instance has ended. An earlier wake-up is planned nearly always.
  void plan_idle(const Instance& instance, const Step& step);
  // The timer has fired: plan() says again what is still needed.
  void fired() { wake_.reset(); }

 private:
  std::optional<MonoTime> next(MonoTime now) const;

  const State& state_;
  std::optional<MonoTime> wake_;
};

}  // namespace corral::residency
