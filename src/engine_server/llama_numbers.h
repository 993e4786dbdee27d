// What llama-server tells of itself at /metrics, under its names: for dashboards that were made for it. Beside the
// engine's own families, which say more.
#pragma once

#include <mutex>
#include <string>

#include "engine/values/stats.h"
#include "engine_server/answer.h"
#include "protocol/metrics_text.h"

namespace corral::engine_server {

// Safe on every thread.
class LlamaNumbers {
 public:
  // A request that has ended.
  void add(const RequestRecord& record);
  // All families, with the model's name as their label. Rates are of what ended since they were written last.
  void write(protocol::MetricsText& out, const std::string& model, const engine::WorkerStats& now);

 private:
  struct Counted {
    double prompt = 0, cached = 0, predicted = 0, steps = 0;  // tokens; predicted ones that took a step of their own
    double prompt_ms = 0, predicted_ms = 0;
  };

  std::mutex mutex_;
  Counted all_, recent_;
  double longest_ = 0;  // tokens of a prompt and its answer
};

}  // namespace corral::engine_server
