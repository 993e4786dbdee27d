#include "engine_server/llama_numbers.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace corral::engine_server {
namespace {

constexpr double kSecond = 1000;  // ms

double rate(double tokens, double ms) { return ms > 0 ? tokens * kSecond / ms : 0; }

struct Family {
  const char* name;
  const char* help;
  double value;
};

}  // namespace

void LlamaNumbers::add(const RequestRecord& record) {
  const auto input = static_cast<double>(record.input_tokens), cached = static_cast<double>(record.cached_tokens);
  const MutexLock lock(mutex_);
  for (auto* counted : {&all_, &recent_}) {
    counted->prompt += input - cached;
    counted->cached += cached;
    counted->predicted += static_cast<double>(record.output_tokens);
    counted->steps += static_cast<double>(record.output_steps);
    counted->prompt_ms += record.prompt_ms;
    counted->predicted_ms += record.predicted_ms;
  }
  longest_ = std::max(longest_, static_cast<double>(record.longest));
}

void LlamaNumbers::write(protocol::MetricsText& out, const std::string& model, const engine::WorkerStats& now) {
  Counted all, recent;
  double longest = 0;
  {
    const MutexLock lock(mutex_);
    all = all_;
    recent = std::exchange(recent_, {});
    longest = longest_;
  }
  const auto passes = static_cast<double>(now.steps);
  const protocol::MetricLabel labels[] = {{"model", model}};
  const auto write_all = [&](protocol::MetricType type, std::initializer_list<Family> families) {
    for (const auto& family : families) {
      out.family(family.name, type, family.help);
      out.sample(labels, family.value);
    }
  };
  write_all(protocol::MetricType::counter,
            {{"llamacpp:prompt_tokens_total", "Prompt tokens computed", all.prompt},
             {"llamacpp:prompt_tokens_cached_total", "Prompt tokens that were cached", all.cached},
             {"llamacpp:prompt_seconds_total", "Time for prompts", all.prompt_ms / kSecond},
             {"llamacpp:tokens_predicted_total", "Generated tokens", all.predicted},
             {"llamacpp:tokens_predicted_seconds_total", "Time for generated tokens", all.predicted_ms / kSecond},
             {"llamacpp:n_decode_total", "Forward passes", passes},
             {"llamacpp:n_tokens_max", "Maximum number of tokens of a prompt and its output", longest},
             {"llamacpp:spec_decode_num_drafts_total", "Drafts", static_cast<double>(now.drafts)},
             {"llamacpp:spec_decode_num_draft_tokens_total", "Draft tokens", static_cast<double>(now.drafted_tokens)},
             {"llamacpp:spec_decode_num_accepted_tokens_total", "Accepted draft tokens",
              static_cast<double>(now.accepted_tokens)}});
  write_all(protocol::MetricType::gauge,
            {{"llamacpp:prompt_tokens_seconds", "Prompt tokens per second since the last scrape",
              rate(recent.prompt, recent.prompt_ms)},
             {"llamacpp:predicted_tokens_seconds", "Generated tokens per second since the last scrape",
              rate(recent.steps, recent.predicted_ms)},
             {"llamacpp:requests_processing", "Running requests", static_cast<double>(now.generating - now.waiting)},
             {"llamacpp:requests_deferred", "Waiting requests", static_cast<double>(now.waiting)},
             {"llamacpp:n_busy_slots_per_decode", "Average number of sessions per forward pass",
              passes > 0 ? now.step_sessions.sum() / passes : 0}});
}

}  // namespace corral::engine_server
