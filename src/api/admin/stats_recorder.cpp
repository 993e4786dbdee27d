#include "api/admin/stats_recorder.h"

namespace corral::api {

StatsRecorder::StatsRecorder(async::Executor home, router::ModelRouter& router, router::Forwarder& forwarder,
                             async::Timers& timers)
    : home_(std::move(home)), router_(router), forwarder_(forwarder), timers_(timers), history_(timers.now()) {
  router_.on_used([this](const backends::RequestStats& stats) { history_.used(stats, timers_.now()); });
}

async::Task<void> StatsRecorder::run() {
  while (true) {
    co_await look();
    co_await timers_.sleep_for(kInterval);
  }
}

async::Task<void> StatsRecorder::look() {
  const auto metrics = co_await router_.metrics();
  const auto& report = metrics.report;
  StatsSample sample{.load_queue_models = report.snapshot.queue.size(), .totals = totals_of(metrics.models)};
  for (const auto& queued : report.snapshot.queue) sample.load_queue_requests += queued.waiters;
  for (const auto& request : forwarder_.requests().list())
    if (request.kind == router::RequestKind::inference)
      ++(request.running ? sample.running_requests : sample.queued_requests);
  if (report.instances.empty() && report.shares.empty() && !report.snapshot.loading) {
    measured_.clear();
    next_measurement_ = {};
  } else if (timers_.now() >= next_measurement_) {
    const auto memory = co_await router_.memory();
    measured_ = pool_usage_of(memory);
    next_measurement_ = timers_.now() + kMemoryInterval;
  }
  sample.pools = measured_;
  history_.add(sample, {.mono = timers_.now(), .wall = timers_.wall_now()});
}

async::Task<StatsHistory> StatsRecorder::history() {
  return async::OnLoop(*this, home_).run([](const StatsRecorder& self) { return self.history_; });
}

}  // namespace corral::api
