// Chooses the KV layout that pays for the current sessions: unified or split. Pure.
//
// In a unified layout, attention scans every cell for every token and skips those of other sequences. So parallel
// sessions slow each other down, more so the longer they are. A split layout avoids this, but only a pass with equally
// many tokens of each sequence is one pass through the weights. So prefill beside running streams costs a pass of its
// own (which still pays if a unified layout is large and full), prefixes are copied instead of shared, and no session
// can be longer than its part.
//
// A change saves all cells, allocates the new memory and restores them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

// An active or waiting session.
struct LayoutView {
  std::uint32_t tokens = 0;     // its history
  std::uint32_t cached = 0;     // of these, in cells
  std::uint32_t remaining = 0;  // most tokens it will still generate
};

struct LayoutFacts {
  KvShape now;
  bool made = false;              // the memory exists; otherwise any layout is free of costs
  std::uint32_t cells = 0;        // of all sequences together
  std::uint32_t multiple = 1;     // the cells of a part are a multiple of this
  std::uint32_t max_streams = 0;  // most active sequences
  std::uint32_t idle_cells = 0;   // of sequences that don't run
  std::uint32_t chunk = 64;       // prompt tokens in a pass beside the running sessions
  bool may_fill = false;          // padding rows could be added to their passes
  // Filled in by the cost model (cost_model.h).
  double foreign_cell_ms = 0;  // time per token and cell of another sequence; 0: none
  double move_cell_ms = 0;     // to save and restore one cell
  double make_ms = 0;          // to free a memory and allocate another
  double pass_ms = 100;        // a pass of the running sessions without prompts
  // Passes until a long prompt is likely to need the unified layout again: a change must pay by then.
  std::uint32_t foresight = 0xFFFFFFFF;
};

// The best layout: `now`, unless another is clearly better over the foreseeable steps.
KvShape choose_layout(std::span<const LayoutView> sessions, const LayoutFacts& facts);

// Learns the usual time between long prompts, so that the layout does not change back and forth while they keep coming.
// Pure.
class QuietTimes {
 public:
  // Call before each pass, with all active and waiting sessions and the facts.
  void observe(std::span<const LayoutView> sessions, const LayoutFacts& facts);
  // Expected passes without a long prompt: as many as usual, or as many as there were since the last one.
  std::uint32_t foresight() const { return std::max(usual_, now_); }

 private:
  std::uint32_t usual_ = 0xFFFF;
  std::uint32_t now_ = 0;
};

}  // namespace corral::engine
