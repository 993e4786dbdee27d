// A long prompt computed beside running streams: in a memory of its own, on threads of its own. On a CPU a chunk of a
// prompt that is small enough for a step of running streams costs several times as much per token as a large one
// (kernels without tiles), so such a prompt would take several times as long or the streams would stall. Here it is
// computed in large chunks on some of the threads, while the streams go on with the others; then its KV moves over.
// Measured in docs/benchmarks.md, "A long prompt beside streams".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "engine/kv/kv_memory.h"
#include "engine/values/types.h"

namespace corral::engine {

// As KvMemory::save gives them.
using KvBytes = std::shared_ptr<const std::vector<std::uint8_t>>;

struct PrefillJob {
  std::vector<Token> tokens;  // from the beginning of the history on
  std::uint32_t cached = 0;   // of these, in `bytes`
  KvBytes bytes;              // may be null if nothing is cached
  // Hears after each chunk how many of the tokens are computed or cached, on the lane's thread; may be empty.
  std::function<void(std::uint32_t done)> computed = {};
};

// A chunk of the job is done.
struct PrefillStep {
  std::uint32_t done = 0;  // as PrefillJob::computed says it
};

struct PrefillResult {
  // Of the job's, in `bytes`. Fewer than all if a pass failed; none if nothing was won: there was no memory, the first
  // pass failed, what was computed couldn't be saved, or it was told to stop.
  std::uint32_t tokens = 0;
  std::uint32_t computed = 0;  // of these, by this job
  std::vector<std::uint8_t> bytes;
  double ms = 0;  // that took
};

// One job at a time: start() only when the last one's result has come. Every job has a result, delivered on any thread.
class PrefillLane {
 public:
  virtual ~PrefillLane() = default;
  // If it throws there was no job.
  virtual void start(PrefillJob job) = 0;
  // No more is to be computed: the result comes soon, with nothing in it unless it was there already.
  virtual void stop() = 0;
  // From the next chunk on.
  virtual void set_threads(std::int32_t n_threads) = 0;
};

// Makes a memory for one sequence of so many tokens; its passes end early when the flag is set. Errors: out_of_memory.
using LaneMemoryMaker =
    std::function<Result<std::unique_ptr<KvMemory>>(std::uint32_t tokens, const std::atomic<bool>& abort)>;

struct LaneControl {
  const std::atomic<bool>& stop;
  const std::atomic<std::int32_t>& n_threads;
};
// What a lane does with a job, on the calling thread. The memory is gone when it returns.
PrefillResult run_prefill(PrefillJob job, const LaneMemoryMaker& make, LaneControl control);

// Shorter prompts aren't worth a memory of their own.
inline constexpr std::uint32_t kLeastInLane = 256;

// Whether a prompt is better off in the lane than in the passes of running streams. Pure.
struct LaneView {
  std::uint32_t pending = 0;  // its tokens to be computed
  std::uint32_t least = kLeastInLane;
  std::uint32_t decoding = 0;   // running streams
  std::uint32_t allowance = 0;  // tokens of prompts that a pass takes beside these
};
bool belongs_in_lane(const LaneView& view);

}  // namespace corral::engine
