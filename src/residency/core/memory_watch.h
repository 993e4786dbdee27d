// When the free memory is sampled: before a load, and all the time while a model is in memory that may be evicted for
// it.
#pragma once

#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class MemoryWatch {
 public:
  explicit MemoryWatch(State& state) : state_(state) {}

  // Asks for one sample, unless one is on its way.
  void ask(const Step& step);
  void take(const MemorySampled& event, const Step& step);
  // A monitor that hangs delays no load for ever: after `memory_wait` nothing is known.
  void give_up_overdue(MonoTime now);
  // Switches the continuous samples on or off.
  void plan(const Step& step);

 private:
  State& state_;
};

}  // namespace corral::residency
