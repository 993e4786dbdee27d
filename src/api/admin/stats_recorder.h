// Samples the counters of metrics every ten seconds into a StatsHistory.
//
// Memory is measured at most every 30 seconds, and only while a model or a share is in memory or loads: a measurement
// would wake an idle GPU. Rows between two measurements have the values of the earlier one.
//
// On the router's home loop, unless noted.
#pragma once

#include "api/admin/stats_history.h"
#include "async/on_loop.h"
#include "async/timer.h"
#include "router/forward/forwarder.h"
#include "router/model_router.h"

namespace corral::api {

class StatsRecorder {
 public:
  static constexpr Millis kInterval{10'000}, kMemoryInterval{30'000};

  // All must outlive it. `home`: the router's home loop. Created and destroyed on it, or while it does not run.
  StatsRecorder(async::Executor home, router::ModelRouter& router, router::Forwarder& forwarder, async::Timers& timers);
  ~StatsRecorder() { router_.on_used({}); }
  StatsRecorder(const StatsRecorder&) = delete;
  StatsRecorder& operator=(const StatsRecorder&) = delete;

  // Takes a sample in each interval, until it is cancelled.
  async::Task<void> run();
  async::Task<void> sample();

  // A copy, on any loop.
  async::Task<StatsHistory> history();

 private:
  const async::Executor home_;
  router::ModelRouter& router_;
  router::Forwarder& forwarder_;
  async::Timers& timers_;
  StatsHistory history_;
  MonoTime next_measurement_{};
  std::vector<PoolUsage> measured_;
};

}  // namespace corral::api
