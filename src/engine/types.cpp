#include "engine/types.h"

#include <algorithm>
#include <array>

#include "engine/stats.h"

namespace corral::engine {
namespace {
constexpr std::array kReasons = {"stop",          "length",     "cancelled", "context_full",
                                 "session_ended", "superseded", "shutdown",  "error"};
constexpr std::array kKinds = {"generative", "embedding", "reranker"};
constexpr std::array kPoolings = {"none", "mean", "cls", "last", "rank"};
}  // namespace

const char* to_string(StopReason reason) { return kReasons.at(static_cast<std::size_t>(reason)); }
const char* to_string(ModelKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }
const char* to_string(Pooling pooling) { return kPoolings.at(static_cast<std::size_t>(pooling)); }

WorkerStats Stats::total() const {
  WorkerStats sum;
  for (const WorkerStats& w : workers) {
    sum.steps += w.steps;
    sum.batch_tokens += w.batch_tokens;
    sum.prompt_tokens += w.prompt_tokens;
    sum.predicted_tokens += w.predicted_tokens;
    sum.cached_tokens += w.cached_tokens;
    sum.generations += w.generations;
    sum.preemptions += w.preemptions;
    sum.aborted_steps += w.aborted_steps;
    sum.pooled_inputs += w.pooled_inputs;
    sum.parked += w.parked;
    sum.restored += w.restored;
    sum.parked_bytes += w.parked_bytes;
    sum.restored_bytes += w.restored_bytes;
    sum.prefix_hits += w.prefix_hits;
    sum.layout_changes += w.layout_changes;
    sum.layout_ms += w.layout_ms;
    sum.drafted_tokens += w.drafted_tokens;
    sum.accepted_tokens += w.accepted_tokens;
    sum.decode_ms += w.decode_ms;
    sum.prompt_ms += w.prompt_ms;
    sum.last_batch += w.last_batch;
    sum.max_batch = std::max(sum.max_batch, w.max_batch);
    sum.sessions += w.sessions;
    sum.generating += w.generating;
    sum.waiting += w.waiting;
    sum.kv_cells += w.kv_cells;
    sum.kv_used += w.kv_used;
    sum.kv_streams = std::max(sum.kv_streams, w.kv_streams);
    sum.downsized = sum.downsized || w.downsized;
    sum.cached_prefixes += w.cached_prefixes;
  }
  return sum;
}

}  // namespace corral::engine
