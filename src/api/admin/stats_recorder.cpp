#include "api/admin/stats_recorder.h"

#include <algorithm>

#include "base/log.h"
#include "residency/elsewhere.h"

namespace corral::api {

StatsRecorder::StatsRecorder(async::Executor home, router::ModelRouter& router, router::Forwarder& forwarder,
                             async::Timers& timers)
    : home_(std::move(home)), router_(router), forwarder_(forwarder), timers_(timers), history_(timers.now()) {
  router_.on_used([this](const backends::RequestStats& stats) { history_.used(stats, timers_.now()); });
}

async::Task<void> StatsRecorder::run() {
  while (true) {
    try {
      co_await sample();
    } catch (const boost::system::system_error& failure) {
      if (failure.code() == async::asio::error::operation_aborted) throw;
      log::error("api", "statistics: {}", failure.what());
    } catch (const std::exception& failure) {  // the next sample may succeed
      log::error("api", "statistics: {}", failure.what());
    }
    co_await timers_.sleep_for(kInterval);
  }
}

async::Task<void> StatsRecorder::sample() {
  const auto metrics = co_await router_.metrics();
  const auto& report = metrics.report;
  StatsSample taken{.load_queue_models = report.snapshot.queue.size(), .totals = totals_of(metrics.models)};
  for (const auto& queued : report.snapshot.queue) taken.load_queue_requests += queued.waiters;
  for (const auto& request : forwarder_.requests().list())
    if (request.kind == router::RequestKind::inference)
      ++(request.running ? taken.running_requests : taken.queued_requests);
  const auto is_here = [](const auto& instance) { return !residency::runs_elsewhere(*instance.view.spec); };
  if (std::ranges::none_of(report.instances, is_here) && report.shares.empty() && !report.snapshot.loading) {
    measured_.clear();
    next_measurement_ = {};
  } else if (timers_.now() >= next_measurement_) {
    const auto memory = co_await router_.memory();
    measured_ = pool_usage_of(memory);
    next_measurement_ = timers_.now() + kMemoryInterval;
  }
  taken.pools = measured_;
  history_.add(taken, {.mono = timers_.now(), .wall = timers_.wall_now()});
}

async::Task<StatsHistory> StatsRecorder::history() {
  return async::OnLoop(*this, home_).run([](const StatsRecorder& self) { return self.history_; });
}

}  // namespace corral::api
