// A snapshot of what the engine has done and holds; the counters only grow.
#pragma once

#include <cstdint>
#include <vector>

namespace corral::engine {

// What a downsize freed, or why it didn't.
struct DownsizeReport {
  bool done = false;               // false: something is being generated
  std::uint32_t sessions = 0;      // that lost their cells and get them back when they go on
  std::uint64_t parked_bytes = 0;  // of KV that moved to host memory
};

struct WorkerStats {
  std::uint64_t steps = 0;             // forward passes
  std::uint64_t batch_tokens = 0;      // tokens in them, all together
  std::uint64_t prompt_tokens = 0;     // of these, prefill
  std::uint64_t predicted_tokens = 0;  // sampled
  std::uint64_t cached_tokens = 0;     // prompt tokens that needed no prefill
  std::uint64_t generations = 0;       // started
  std::uint64_t preemptions = 0;       // sessions put back because the KV cache was full
  std::uint64_t aborted_steps = 0;     // cut short by a cancel
  std::uint64_t pooled_inputs = 0;     // embedded or reranked
  std::uint64_t parked = 0;            // sequences saved to host memory
  std::uint64_t restored = 0;          // and put back
  std::uint64_t parked_bytes = 0;      // saved so far
  std::uint64_t restored_bytes = 0;    // put back so far
  std::uint64_t prefix_hits = 0;       // sessions that began with KV of another one
  std::uint64_t layout_changes = 0;    // from one KV layout to another
  std::uint64_t drafted_tokens = 0;    // guessed
  std::uint64_t accepted_tokens = 0;   // of these, right
  double layout_ms = 0;                // time that took
  double decode_ms = 0;                // time in libllama
  double prompt_ms = 0;                // of this, in passes with prefill
  std::uint32_t last_batch = 0;        // tokens of the latest pass
  std::uint32_t max_batch = 0;
  std::uint32_t sessions = 0;         // alive
  std::uint32_t generating = 0;       // of these, with a generation under way or waiting
  std::uint32_t waiting = 0;          // of these, without a sequence yet
  std::uint32_t kv_cells = 0;         // size of the KV cache
  std::uint32_t kv_used = 0;          // upper bound of cells in use (shared prefixes count for each user)
  std::uint32_t kv_streams = 0;       // parts of a split layout; 0: one pool
  bool downsized = false;             // without cells until the next generation
  std::uint32_t cached_prefixes = 0;  // ended sessions kept for their prefix
};

struct Stats {
  std::vector<WorkerStats> workers;
  WorkerStats total() const;
};

}  // namespace corral::engine
