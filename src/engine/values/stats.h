// Counters and gauges of the engine; counters only grow. Tables list all of them, and every report is made from the
// tables: a new number is a member and a row.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/histogram.h"

namespace corral::engine {

// Result of a downsize.
struct DownsizeReport {
  bool done = false;               // false: something is being generated
  std::uint32_t sessions = 0;      // that lost their KV cells; their next generation restores them
  std::uint64_t parked_bytes = 0;  // of KV that moved to host memory
};
// Seconds: from one token of a tiny model to a prompt that takes minutes.
inline constexpr std::array kSecondBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                             0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};
inline constexpr std::array kSizeBounds = {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0};

struct WorkerStats {
  std::uint64_t steps = 0;             // forward passes
  std::uint64_t batch_tokens = 0;      // tokens in them, with draft tokens, without padding_rows
  std::uint64_t prompt_tokens = 0;     // of these, prefill
  std::uint64_t predicted_tokens = 0;  // sampled
  std::uint64_t media_tokens = 0;      // of prompt_tokens, cells of pictures and sounds
  std::uint64_t cached_tokens = 0;     // prompt tokens that needed no prefill
  std::uint64_t prefix_hits = 0;       // generations that began with tokens that other sessions had computed
  std::uint64_t generations = 0;       // started
  std::uint64_t preemptions = 0;       // sessions that lost their cells because the KV cache was full
  std::uint64_t aborted_steps = 0;     // aborted by a cancel
  std::uint64_t fresh_starts = 0;      // restarts after an unexpected failure
  std::uint64_t pooled_inputs = 0;     // embedded or reranked
  std::uint64_t parked = 0;            // sequences saved to host memory
  std::uint64_t restored = 0;          // sequences restored from it
  std::uint64_t parked_bytes = 0;      // saved so far
  std::uint64_t restored_bytes = 0;    // restored so far
  std::uint64_t layout_changes = 0;    // from one KV layout to another
  std::uint64_t growths = 0;           // of the pool of KV cells
  std::uint64_t drafts = 0;            // verified: draft tokens of a session in a pass
  std::uint64_t drafted_tokens = 0;    // draft tokens
  std::uint64_t accepted_tokens = 0;   // of these, accepted
  std::uint64_t padding_rows = 0;      // padding rows, which make a pass faster
  std::uint64_t lane_prompts = 0;      // prompts computed in the lane, beside running streams
  std::uint64_t lane_tokens = 0;       // tokens of these
  double layout_ms = 0;                // time of layout changes
  double decode_ms = 0;                // time in passes of the running sessions
  double prompt_ms = 0;                // in passes with prefill, and in the lane, which computes at the same time
  std::uint32_t last_batch = 0;        // tokens of the latest pass
  std::uint32_t max_batch = 0;
  std::uint32_t sessions = 0;         // alive
  std::uint32_t generating = 0;       // of these, with a running or waiting generation
  std::uint32_t waiting = 0;          // of these, without a sequence yet
  std::uint32_t kv_cells = 0;         // size of the KV cache
  std::uint32_t kv_used = 0;          // upper bound of cells in use (shared prefixes count for each user)
  std::uint32_t kv_streams = 0;       // parts of a split layout; 0: one pool
  std::uint32_t downsized = 0;        // 1: without cells until the next generation
  std::uint32_t cached_prefixes = 0;  // ended sessions kept for their prefix

  Histogram queue_seconds{kSecondBounds};        // from the call to the first pass with one of its tokens
  Histogram first_token_seconds{kSecondBounds};  // from the call to the first sampled token
  Histogram inter_token_seconds{kSecondBounds};  // from one sampled token of a generation to the next
  Histogram step_tokens{kSizeBounds};            // tokens of a pass
  Histogram step_sessions{kSizeBounds};          // sessions, or pooled inputs, of a pass
};

// Parked KV (parked_store.h): one store for all engine workers.
struct ParkedStats {
  std::uint64_t entries = 0;       // conversations, or prefixes of them
  std::uint64_t on_disk_only = 0;  // of these, those in a file only
  std::uint64_t memory_bytes = 0;  // of the others
  std::uint64_t memory_limit = 0;  // most that these may be, in bytes
  std::uint64_t disk_bytes = 0;    // of the files of entries
  std::uint64_t hits = 0;
  std::uint64_t loads = 0;  // hits that read a file
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;  // from memory
};

// Pictures and sounds: one encoder for all engine workers.
struct MediaStats {
  std::uint64_t encoded = 0;  // pieces of pictures and sounds
  std::uint64_t hits = 0;     // embeddings that were in the cache
  std::uint64_t failures = 0;
  std::uint64_t waiting = 0;       // pieces to be encoded, with the one that is
  std::uint64_t cached = 0;        // embeddings in the cache
  std::uint64_t cached_bytes = 0;  // of them
  double encode_ms = 0;
};

struct Stats {
  std::vector<WorkerStats> workers;
  std::optional<ParkedStats> parked;  // none: this model parks nothing
  std::optional<MediaStats> media;    // none: this model takes text only
  WorkerStats total() const;
};

enum class StatKind {
  counter,  // only grows
  gauge,    // that of several workers is the sum
  peak,     // that of several workers is the largest
};

// One number of WorkerStats, ParkedStats or MediaStats.
template <typename Counts>
struct StatField {
  const char* name;    // in JSON
  const char* metric;  // in Prometheus, without the program's prefix; nullptr: a histogram has this number
  const char* help;
  StatKind kind;
  std::variant<std::uint64_t Counts::*, std::uint32_t Counts::*, double Counts::*> member;
  double scale = 1;  // from the member's unit to the metric's
};
std::span<const StatField<WorkerStats>> stat_fields();
std::span<const StatField<ParkedStats>> parked_fields();
std::span<const StatField<MediaStats>> media_fields();

struct HistogramField {
  const char* metric;
  const char* help;
  Histogram WorkerStats::* member;
};
std::span<const HistogramField> histogram_fields();

}  // namespace corral::engine
