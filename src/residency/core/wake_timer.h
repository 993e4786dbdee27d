// When the core must be called again without an event (WakeAt): the end of a deadline, patience or timeout.
#pragma once

#include <optional>

#include "residency/core/step.h"
#include "residency/state.h"

namespace corral::residency {

class WakeTimer {
 public:
  explicit WakeTimer(const State& state) : state_(state) {}

  // Moves the timer if the needed time has changed.
  void plan(const Step& step);
  // The last request on this instance has ended. Nearly always an earlier wake-up is already set.
  void plan_idle(const Instance& instance, const Step& step);
  // The timer has fired: the next plan() sets it again.
  void fired() { wake_.reset(); }

 private:
  std::optional<MonoTime> next(MonoTime now) const;

  const State& state_;
  std::optional<MonoTime> wake_;
};

}  // namespace corral::residency
