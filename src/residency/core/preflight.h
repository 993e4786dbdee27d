// Preflight: the check of a load's files and memory need (CheckLoad) before any model is evicted for it.
//
// A load enters the queue with only a name and options. Until its first check has passed, it is listed in the queue,
// but delays no other load, evicts nothing and is not refused. If its turn comes after a long wait, the check is
// repeated before victims stop: files may be gone by then.
#pragma once

#include <cstdint>

#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Preflight {
 public:
  explicit Preflight(State& state) : state_(state) {}

  // Requests a check, unless one is running.
  void ask(Instance& load, const Step& step);
  // Cancels it, and forgets the result of the last one.
  void drop(Instance& load, const Step& step);

  // The load has passed a check, or needs none.
  static bool is_known(const Instance& load) { return !load.spec->to_check || load.checked_at.has_value(); }
  // The same, and the check is recent enough to evict models.
  bool is_fresh(const Instance& load, MonoTime now) const;

  // Ends the running check with this number and returns its load; nullptr: a late answer.
  Instance* end(InstanceId instance, std::uint64_t check);
  // True: decisions may change.
  bool handle(const LoadChecked& event, const Step& step);

 private:
  State& state_;
  std::uint64_t last_check_ = 0;
};

}  // namespace corral::residency
