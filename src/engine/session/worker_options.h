// Options of an engine worker; constant for its lifetime.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/values/options.h"

namespace corral::engine {

// Compute threads of a context, for passes of running streams and for larger passes. As a command: the new values.
struct SetThreads {
  std::int32_t n_threads = 0;
  std::int32_t n_threads_batch = 0;
  bool operator==(const SetThreads&) const = default;
};

struct WorkerOptions {
  std::uint32_t max_sequences = 16;
  std::uint32_t prefix_cache_tokens = 0;        // limit in the first KV memory; a larger memory has a larger limit
  std::uint32_t max_prefix_cache_tokens = ~0u;  // limit in any KV memory
  std::uint32_t max_cells = 0;                  // limit for the growth of a unified layout; 0: it does not grow
  KvLayout layout = KvLayout::automatic;
  std::uint32_t cell_multiple = 1;           // see LayoutFacts
  SetThreads threads = {1, 1};               // of the context; a lane in use takes a part of them
  std::uint32_t lane_tokens = kLeastInLane;  // shortest prompt for the lane
  bool park_at_end = false;                  // park the cells when the worker stops
  std::uint32_t draft_tokens = 0;            // most draft tokens per session in a pass; 0: none
  std::uint32_t draft_active = 0;            // with more running sessions than this there are no draft tokens
  Millis max_reading{10'000};                // longest wait of a session for files of parked KV; then it computes the
                                             // tokens
  Millis max_cause_wait{10'000};             // longest wait of generations for the cause of a failed allocation
};

}  // namespace corral::engine
