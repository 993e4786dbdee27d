// Counters of the router since its start: of each model, and totals. On the home loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "backends/wrapped_server.h"
#include "residency/types.h"
#include "router/base/metrics.h"

namespace corral::router {

// Usage of finished requests, all models together.
struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::optional<backends::RequestStats> last;
  ModelName last_model;
};

class Counters {
 public:
  ModelMetrics& of(const residency::ModelSpec& spec);
  void used(const residency::ModelSpec& spec, const backends::RequestStats& stats);
  void ended(const RequestEnd& end);
  // Called with each usage, after it is counted. Empty: no longer.
  void on_used(std::function<void(const backends::RequestStats&)> call) { on_used_ = std::move(call); }
  const Totals& totals() const { return totals_; }
  const Metrics& models() const { return models_; }

 private:
  Totals totals_;
  Metrics models_;
  std::function<void(const backends::RequestStats&)> on_used_;
};

}  // namespace corral::router
