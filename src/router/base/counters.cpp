#include "router/base/counters.h"

namespace corral::router {

ModelMetrics& Counters::of(const residency::ModelSpec& spec) {
  auto& counted = models_[spec.name];
  counted.type = spec.type;
  return counted;
}

void Counters::used(const residency::ModelSpec& spec, const backends::RequestStats& stats) {
  totals_.requests += 1;
  totals_.input_tokens += stats.input_tokens;
  totals_.output_tokens += stats.output_tokens;
  totals_.cached_tokens += stats.cached_tokens;
  totals_.last = stats;
  totals_.last_model = spec.name;
  auto& counted = of(spec);
  counted.input_tokens += stats.input_tokens;
  counted.cached_tokens += stats.cached_tokens;
  counted.output_tokens += stats.output_tokens;
  if (stats.time_to_first_token > 0) counted.first_token_seconds.observe(stats.time_to_first_token);
  if (stats.tokens_per_second > 0) counted.tokens_per_second.observe(stats.tokens_per_second);
  if (on_used_) on_used_(stats);
}

void Counters::ended(const RequestEnd& end) {
  auto& counted = models_[end.model];
  counted.type = end.type;
  counted.requests[static_cast<std::size_t>(end.outcome)] += 1;
  counted.quarantined += end.quarantined;
  if (end.waited) counted.queue_seconds.observe(std::chrono::duration<double>(*end.waited).count());
}

}  // namespace corral::router
