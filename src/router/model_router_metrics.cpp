// ModelRouter's part in counting.
#include "residency/server_state.h"
#include "router/model_router.h"
#include "router/running.h"

namespace corral::router {

ModelMetrics& ModelRouter::metrics_of(const residency::ModelSpec& spec) {
  auto& counted = metrics_[spec.name];
  counted.type = spec.type;
  return counted;
}

void ModelRouter::count_use(const residency::ModelSpec& spec, const backends::RequestStats& stats) {
  totals_.requests += 1;
  totals_.input_tokens += stats.input_tokens;
  totals_.output_tokens += stats.output_tokens;
  totals_.cached_tokens += stats.cached_tokens;
  totals_.last = stats;
  totals_.last_model = spec.name;
  auto& counted = metrics_of(spec);
  counted.input_tokens += stats.input_tokens;
  counted.cached_tokens += stats.cached_tokens;
  counted.output_tokens += stats.output_tokens;
  counted.first_token_seconds.observe(stats.time_to_first_token);
  if (stats.tokens_per_second > 0) counted.tokens_per_second.observe(stats.tokens_per_second);
}

void ModelRouter::count(RequestEnd end) {
  if (home_.executor().running_in_this_thread()) {
    count_here(end);
  } else {
    home_.post([this, end = std::move(end)] { count_here(end); });
  }
}

void ModelRouter::count_here(const RequestEnd& end) {
  auto& counted = metrics_[end.model];
  counted.type = end.type;
  counted.requests[static_cast<std::size_t>(end.outcome)] += 1;
  if (end.waited) counted.queue_seconds.observe(std::chrono::duration<double>(*end.waited).count());
}

http::Target& Resident::target(async::Executor executor) const { return running->server->target(executor); }

async::Task<MetricsReport> ModelRouter::metrics_here() {
  MetricsReport metrics{co_await report_here(), metrics_, std::chrono::duration_cast<Millis>(timers_.now() - started_)};
  co_return metrics;
}

async::Task<std::vector<Resident>> ModelRouter::residents_here() {
  std::vector<Resident> all;
  for (const auto& [id, server] : core_.state().servers) {
    const auto found = running_.find(id);
    if (found != running_.end() && residency::is_resident(server->state))
      all.push_back({server->spec->name, found->second});
  }
  co_return all;
}

async::Task<MetricsReport> ModelRouter::metrics() {
  auto task = metrics_here();
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

async::Task<std::vector<Resident>> ModelRouter::residents() {
  auto task = residents_here();
  co_return co_await async::run_on(home_.executor(), std::move(task));
}

}  // namespace corral::router
