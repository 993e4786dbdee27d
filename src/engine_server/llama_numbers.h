// Metrics of llama-server's /metrics under their names, for dashboards that were made for it. The engine's own families
// have more.
#pragma once

#include <string>

#include "base/mutex.h"
#include "engine/values/stats.h"
#include "engine_server/answer.h"
#include "protocol/answers/metrics_text.h"

namespace corral::engine_server {

// Safe on every thread.
class LlamaNumbers {
 public:
  // A request that has ended.
  void add(const RequestRecord& record);
  // Writes all families, with the model's name as label. Rates cover the requests that ended since the last call.
  void write(protocol::MetricsText& out, const std::string& model, const engine::WorkerStats& now);

 private:
  struct Counted {
    double prompt = 0, cached = 0, predicted = 0, steps = 0;  // tokens; predicted ones that took a step of their own
    double prompt_ms = 0, predicted_ms = 0;
  };

  Mutex mutex_;
  Counted all_ GUARDED_BY(mutex_), recent_ GUARDED_BY(mutex_);
  double longest_ GUARDED_BY(mutex_) = 0;  // tokens of a prompt and its answer
};

}  // namespace corral::engine_server
