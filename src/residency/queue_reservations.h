// What loads further ahead in the queue will take: a load that passes them must leave it free. Filled load by load
// while a decision goes through the queue.
#pragma once

#include <array>
#include <vector>

#include "residency/eviction_plan.h"
#include "residency/state.h"

namespace corral::residency {

class QueueReservations {
 public:
  explicit QueueReservations(const State& state);

  // True if this load must not start first: it would take what one ahead waits for.
  bool blocks(const Instance& load, const EvictionPlan& plan) const;
  // The load starts now, or (add) waits.
  void started(const Instance& load);
  void add(const Instance& load, const EvictionPlan& plan);

 private:
  bool blocks_by_memory(const Instance& load, const EvictionPlan& plan) const;
  bool leaves(const Instance* instance);

  const State& state_;
  std::array<std::size_t, kModelTypeCount> projected_{};  // slots taken once the loads ahead have loaded
  std::array<std::size_t, kModelTypeCount> waiting_{};
  std::vector<const Instance*> leaving_;
  bool npu_ = false;
  PoolBytes free_;             // memory left once the loads ahead have loaded
  bool reserved_ = false;      // a load ahead with known need waits
  bool memory_waits_ = false;  // a load ahead waits for memory
};

}  // namespace corral::residency
