// The prefill lane: computes a long prompt beside running streams, in a context of its own on threads of its own. On a
// CPU a prompt chunk that is small enough for a step of running streams costs several times as much per token as a
// large one (kernels without tiles). So such a prompt would take several times as long, or the streams would stall. The
// lane computes it in large chunks on some of the threads, while the streams continue on the others; then its KV moves
// to the worker's memory. Measured in docs/benchmarks.md, "A long prompt beside streams".
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

// Bytes of KvMemory::save.
using KvBytes = std::shared_ptr<const std::vector<std::uint8_t>>;

struct PrefillJob {
  std::vector<Token> tokens;  // a prefix of the history
  std::uint32_t cached = 0;   // of these, in `bytes`
  KvBytes bytes;              // may be null if nothing is cached
  // Called after each chunk with the number of tokens that are computed or cached, on the lane's thread; may be empty.
  std::function<void(std::uint32_t done)> computed = {};
};

// A chunk of the job is done.
struct PrefillStep {
  std::uint32_t done = 0;  // as in PrefillJob::computed
};

struct PrefillResult {
  // Tokens of the job in `bytes`. Fewer than all if a pass failed. None without a gain: no memory, the first pass
  // failed, the cells could not be saved, or the job was stopped.
  std::uint32_t tokens = 0;
  std::uint32_t computed = 0;  // of these, by this job
  std::vector<std::uint8_t> bytes;
  double ms = 0;  // duration
};

// One job at a time: call start() only after the result of the job before. Every job has a result, delivered on any
// thread.
class PrefillLane {
 public:
  virtual ~PrefillLane() = default;
  // If it throws, no job was started.
  virtual void start(PrefillJob job) = 0;
  // Stops the job: its result comes soon, empty unless it was complete already.
  virtual void stop() = 0;
  // Applies from the next chunk on.
  virtual void set_threads(std::int32_t n_threads) = 0;
};

// Makes a memory for one sequence of so many tokens; its passes end early when the flag is set. Errors: out_of_memory.
using LaneMemoryMaker =
    std::function<Result<std::unique_ptr<KvMemory>>(std::uint32_t tokens, const std::atomic<bool>& abort)>;

struct LaneControl {
  const std::atomic<bool>& stop;
  const std::atomic<std::int32_t>& n_threads;
};
// Runs a job on the calling thread. The memory is freed when it returns.
PrefillResult run_prefill(PrefillJob job, const LaneMemoryMaker& make, LaneControl control);

// Shorter prompts are not worth a context of their own.
inline constexpr std::uint32_t kLeastInLane = 256;

// Whether a prompt belongs in the lane rather than in the passes of running streams. Pure.
struct LaneView {
  std::uint32_t pending = 0;  // tokens to compute
  std::uint32_t least = kLeastInLane;
  std::uint32_t decoding = 0;   // running streams
  std::uint32_t allowance = 0;  // prompt tokens of a pass beside these
};
bool belongs_in_lane(const LaneView& view);

}  // namespace corral::engine
