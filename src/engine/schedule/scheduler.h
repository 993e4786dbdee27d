// Plans the next forward pass: a pure function over a snapshot of the active sessions.
//
// Every decoding session's next token goes first, so that running streams advance at each step. Prompts share what is
// left of the budget: the oldest one gets up to half of it, so that it responds first. The others follow in the order
// of their remaining tokens, so that a short prompt doesn't wait behind a long one, and of many simultaneous prompts
// the first are done early. No budget is left unused while a prompt waits for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace corral::engine {

// A session with a sequence, ready to run.
struct RunnableView {
  std::uint32_t pending = 0;  // tokens of its history not in the KV cache yet, at least 1
  bool decoding = false;      // its pending token (exactly 1) was just sampled
  bool settled = false;       // decoding, and kSettledAfter tokens into its answer
  std::uint64_t order = 0;    // smaller: earlier turn
};

struct BatchLimits {
  std::uint32_t tokens = 512;   // of one forward pass
  std::uint32_t outputs = 16;   // rows of logits of one forward pass
  std::uint32_t prefill = 512;  // prompt tokens beside at least one decoding session
};

struct BatchItem {
  std::uint32_t index = 0;   // into the snapshot
  std::uint32_t tokens = 0;  // number of its pending tokens, from the front
  bool output = false;       // the last of them is the last pending token: logits needed
};

// Decoding sessions in snapshot order, then prompts, oldest first; each session at most once.
std::vector<BatchItem> plan_batch(std::span<const RunnableView> sessions, const BatchLimits& limits);

// A stream needs even steps from this token of its output on.
inline constexpr std::uint32_t kSettledAfter = 8;

// Whether prompts are limited to keep steps even. Not if all streams have just begun: sessions that came together wait
// for each other's prompts, which takes a few passes, and large passes are faster for all. Not for prompts with
// `long_prompt` or more tokens left.
bool wants_even_steps(std::span<const RunnableView> sessions, std::uint32_t long_prompt);

// Learns from past passes how many prompt tokens fit beside running streams: so many that a step takes about kStretch
// times as long as without them. Then each stream keeps half of its speed while a prompt is computed, and the prompt
// gets the other half. If many sessions wait with prompts, prompts get more in proportion: running streams must not
// delay the others. Chunks from kLarge tokens on are measured separately, because kernels are much faster from there
// on: such a chunk may cost less than a smaller one. Pure.
class PrefillPacer {
 public:
  struct Pass {
    std::uint32_t decoding = 0;  // tokens of running streams
    std::uint32_t prefill = 0;   // tokens of prompts, at least 1
    double ms = 0;
    double decode_ms = 0;  // time of the running streams alone
  };
  void observe(const Pass& pass);
  // Prompt tokens for a pass with `decoding` running streams that take `decode_ms` alone (0: not known), while
  // `prompts` sessions have prompts to compute, admitted or waiting. At least a tile, at most `limit`. `max_ms`: most
  // time that a single prompt may add to a step.
  std::uint32_t allowance(std::uint32_t decoding, double decode_ms, std::uint32_t prompts, double max_ms,
                          std::uint32_t limit) const;

  static constexpr std::uint32_t kFloor = 8;
  // Kernels compute rows in tiles: a whole tile takes as long as most of one.
  static constexpr std::uint32_t kTile = 16;
  static constexpr std::uint32_t kLarge = 64;
  // Before the first measurement.
  static constexpr std::uint32_t kFirstAllowance = 64;
  static constexpr double kStretch = 1.9;
  // One prompt gets the share above; each further prompt adds this, divided by the running streams.
  static constexpr double kCrowd = 3.0;

 private:
  double small_ms_ = 0;          // per prompt token in a small chunk
  double large_ms_ = 0;          // per prompt token in a large chunk; 0: not known, or outdated
  std::uint32_t large_age_ = 0;  // passes with small chunks since the last large one
};

}  // namespace corral::engine
