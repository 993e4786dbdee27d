// When free memory is sampled: before a load, and continuously while a model is in memory that may be evicted for it.
#pragma once

#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class MemoryWatch {
 public:
  explicit MemoryWatch(State& state) : state_(state) {}

  // Requests one sample, unless an answer is pending.
  void ask(const Step& step);
  void take(const MemorySampled& event, const Step& step);
  // If no sample arrives within `memory_wait`, free memory counts as unknown, so that a hung monitor doesn't block
  // loads.
  void give_up_overdue(MonoTime now);
  // Switches the continuous samples on or off.
  void plan(const Step& step);

 private:
  State& state_;
};

}  // namespace corral::residency
