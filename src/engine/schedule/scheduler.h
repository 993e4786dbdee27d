// What goes into the next forward pass: a pure function over a snapshot of the sessions that may run.
//
// Every decoding session's next token goes first, so that running streams advance at each step. Prompts share what is
// left of the budget: the oldest one gets up to half of it (so that the first to come is the first to answer), and the
// others follow in the order of what they still need (so that a short prompt doesn't wait behind a long one, and of
// many that come at once the first are through early). No budget is left unused while a prompt waits for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace corral::engine {

// A session that holds a sequence and wants to run.
struct RunnableView {
  std::uint32_t pending = 0;  // tokens of its history not in the KV cache yet, at least 1
  bool decoding = false;      // its pending token (exactly 1) was just sampled
  bool settled = false;       // decoding, and kSettledAfter tokens into its answer
  std::uint64_t order = 0;    // smaller: asked earlier
};

struct BatchLimits {
  std::uint32_t tokens = 512;   // of one forward pass
  std::uint32_t outputs = 16;   // rows of logits of one forward pass
  std::uint32_t prefill = 512;  // prompt tokens beside at least one decoding session
};

struct BatchItem {
  std::uint32_t index = 0;   // into the snapshot
  std::uint32_t tokens = 0;  // so many of its pending ones, from the front
  bool output = false;       // the last of them is the last pending one: logits wanted
};

// Decoding sessions in snapshot order, then prompts, oldest first; each session at most once.
std::vector<BatchItem> plan_batch(std::span<const RunnableView> sessions, const BatchLimits& limits);

// A stream wants even steps from this token of its answer on.
inline constexpr std::uint32_t kSettledAfter = 8;

// Whether prompts are held back for the sake of even steps. Where all streams have just begun they are not: those that
// came together wait for each other's prompts, which is over after a few passes, and large passes are quicker for all.
// Not for prompts of which `long_prompt` tokens and more are left.
bool wants_even_steps(std::span<const RunnableView> sessions, std::uint32_t long_prompt);

// How many prompt tokens fit beside running streams, learnt from the passes so far: so many that a step takes about
// kStretch times as long as without them. Then each stream keeps half of its speed while a prompt comes, and the prompt
// gets what the other half is worth. Where many wait with prompts, the prompts get more in proportion: those that run
// already must not hold up the others. Chunks from kLarge tokens on are learnt apart, because kernels are much faster
// from there on: a chunk of that size may cost less than a smaller one. Pure.
class PrefillPacer {
 public:
  struct Pass {
    std::uint32_t decoding = 0;  // tokens of running streams
    std::uint32_t prefill = 0;   // tokens of prompts, at least 1
    double ms = 0;
    double decode_ms = 0;  // what the running streams alone take
  };
  void observe(const Pass& pass);
  // Prompt tokens for a pass with `decoding` running streams that take `decode_ms` alone (0: not known), while
  // `prompts` sessions wait with theirs, in a place or for one. At least what fills a tile, at most `limit`. `max_ms`:
  // a single prompt should not make a step longer by more than this.
  std::uint32_t allowance(std::uint32_t decoding, double decode_ms, std::uint32_t prompts, double max_ms,
                          std::uint32_t limit) const;

  static constexpr std::uint32_t kFloor = 8;
  // Compute kernels take rows in tiles: a pass is as quick with a whole tile as with most of one.
  static constexpr std::uint32_t kTile = 16;
  static constexpr std::uint32_t kLarge = 64;
  // Until something is known.
  static constexpr std::uint32_t kFirstGuess = 64;
  static constexpr double kStretch = 1.9;
  // One newcomer gets what is said above; each further one so much more, shared out among those that run.
  static constexpr double kCrowd = 3.0;

 private:
  double small_ms_ = 0;          // of one prompt token more in a small chunk
  double large_ms_ = 0;          // and in a large one; 0: not known, or not any more
  std::uint32_t large_age_ = 0;  // passes with small chunks since there was a large one
};

}  // namespace corral::engine
