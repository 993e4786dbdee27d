// One pool of KV cells for all sequences, or a part for each: which layout pays for the sessions there are. Pure.
//
// In a pool, attention looks at every cell for every token and skips the ones of other sequences; so sessions that run
// side by side slow each other down, the more the longer they are. With a part for each they don't; but then only
// passes with equally many tokens of each sequence are one pass through the weights, so prefill beside running streams
// costs a pass of its own (which pays all the same where a pool is large and full), prefixes are copied instead of
// shared, and no session can be longer than its part.
// Changing from one to the other saves all cells, makes the memory anew and puts them back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

// A session that runs or waits for its turn.
struct LayoutView {
  std::uint32_t tokens = 0;     // its history
  std::uint32_t cached = 0;     // of these, in cells
  std::uint32_t remaining = 0;  // most tokens it will still generate
};

struct LayoutFacts {
  KvShape now;
  bool made = false;              // the memory exists; else any layout is free
  std::uint32_t cells = 0;        // of all sequences together
  std::uint32_t multiple = 1;     // the cells of a part are one of this
  std::uint32_t max_streams = 0;  // most sequences that run at a time
  std::uint32_t idle_cells = 0;   // of sequences that don't run
  std::uint32_t chunk = 64;       // prompt tokens that go into a pass beside the running sessions
  bool may_fill = false;          // rows that nobody wants could be put into their passes
  // From here on: what a cost model knows (cost_model.h).
  double foreign_cell_ms = 0;  // what one token of a pass pays for one cell that isn't its sequence's; 0: nothing
  double move_cell_ms = 0;     // to save one cell and put it back
  double make_ms = 0;          // to free a memory and make another
  double pass_ms = 100;        // a pass of the running sessions without prompts
  // Passes after which a long prompt is likely to want the pool back: what a change must have paid for by then.
  std::uint32_t foresight = 0xFFFFFFFF;
};

// The layout to have. `now`, unless another is clearly better over the steps that can be foreseen.
KvShape choose_layout(std::span<const LayoutView> sessions, const LayoutFacts& facts);

// Learns how long it stays quiet between long prompts, so that the layout doesn't go back and forth where they keep
// coming. Pure.
class QuietTimes {
 public:
  // Before each pass, with all that run or wait, and the facts.
  void observe(std::span<const LayoutView> sessions, const LayoutFacts& facts);
  // Passes without a long prompt that can be expected: as long as usual, or as long as it has been quiet by now.
  std::uint32_t foresight() const { return std::max(usual_, now_); }

 private:
  std::uint32_t usual_ = 0xFFFF;
  std::uint32_t now_ = 0;
};

}  // namespace corral::engine
