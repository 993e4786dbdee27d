// What the loads further ahead in the queue are going to take when their turn comes: whoever passes them leaves it to
// them. Filled load by load while a decision goes through the queue.
#pragma once

#include <array>
#include <vector>

#include "residency/eviction_plan.h"
#include "residency/state.h"

namespace corral::residency {

class QueueReservations {
 public:
  explicit QueueReservations(const State& state);

  // True when this load must not go first: it would take what one ahead waits for.
  bool blocks(const Instance& load, const EvictionPlan& room) const;
  // The load starts now, or waits.
  void started(const Instance& load);
  void add(const Instance& load, const EvictionPlan& room);

 private:
  bool blocks_by_memory(const Instance& load, const EvictionPlan& room) const;
  bool leaves(const Instance* instance);

  const State& state_;
  std::array<std::size_t, kModelTypeCount> projected_{};  // slots taken once those ahead have loaded
  std::array<std::size_t, kModelTypeCount> waiting_{};
  std::vector<const Instance*> leaving_;
  bool npu_ = false;
  PoolBytes free_;             // memory left once those ahead have loaded
  bool reserved_ = false;      // somebody ahead with known needs waits
  bool memory_waits_ = false;  // for memory
};

}  // namespace corral::residency
