// Evicts and downsizes instances without a load that needs it: for lowered limits, idle timeouts, and memory pressure.
#pragma once

#include <vector>

#include "residency/core/downsizer.h"
#include "residency/core/lifecycle.h"
#include "residency/core/step.h"
#include "residency/event.h"
#include "residency/state.h"

namespace corral::residency {

class Reclaimer {
 public:
  Reclaimer(State& state, Lifecycle& lifecycle, Downsizer& downsizer)
      : state_(state), lifecycle_(lifecycle), downsizer_(downsizer) {}

  // Evicts idle instances of a type above its limit, least recently used first.
  void enforce_limits(const Step& step);
  // Idle instances whose timeout has passed; none within `floor` of its last use.
  void evict_idle(Millis floor, const Step& step);
  void downsize_idle(Millis floor, const Step& step);
  // If a memory pool is used above the threshold, even after all pending releases, idle instances free enough to bring
  // it well below. They are downsized if that suffices; pinned ones stay unchanged. True if any are evicted or
  // downsized.
  bool relieve_pressure(const std::vector<PoolSample>& seen, const Step& step);
  // True: decisions may change.
  bool handle(const SimulatePressure& event, const Step& step);

 private:
  PoolBytes excess(const std::vector<PoolSample>& seen) const;

  State& state_;
  Lifecycle& lifecycle_;
  Downsizer& downsizer_;
};

}  // namespace corral::residency
