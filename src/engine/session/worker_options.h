// How a worker was set up, for as long as it lives.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "engine/schedule/prefill_lane.h"
#include "engine/values/options.h"

namespace corral::engine {

// Threads of a memory, for passes of running streams and for larger ones; as a command: from now on.
struct SetThreads {
  std::int32_t n_threads = 0;
  std::int32_t n_threads_batch = 0;
  bool operator==(const SetThreads&) const = default;
};

struct WorkerOptions {
  std::uint32_t max_sequences = 16;
  std::uint32_t prefix_cache_tokens = 0;        // in the memory that the worker begins with; more in a larger one
  std::uint32_t max_prefix_cache_tokens = ~0u;  // in any
  std::uint32_t max_cells = 0;                  // that a pool may grow to; 0: it doesn't
  KvLayout layout = KvLayout::automatic;
  std::uint32_t cell_multiple = 1;           // see LayoutFacts
  SetThreads threads = {1, 1};               // of the memory; with a lane they are shared out
  std::uint32_t lane_tokens = kLeastInLane;  // of a prompt, from which on it belongs there
  bool park_at_end = false;                  // what is in cells is wanted when the worker has gone
  std::uint32_t draft_tokens = 0;            // most guesses at a session in a pass; 0: none
  std::uint32_t draft_active = 0;            // most running sessions beside which guessing pays
  Millis max_reading{10'000};                // that a session waits for files of parked KV; then it computes
  Millis most_explaining{10'000};            // that generations wait to be told what memory was missing
};

}  // namespace corral::engine
