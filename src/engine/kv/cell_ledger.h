// The one place where a worker looks at what cells there are: for admission, reclaiming, preemption and restoring. A
// cell that several sequences share counts once, wherever it is counted. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

// Whoever gets a place must be able to stay: as many tokens of its answer, and of everybody's who runs, are counted as
// if they were in cells already.
inline constexpr std::uint32_t kPromisedTokens = 16;

// Those that have a place.
struct CellClaims {
  std::vector<std::int32_t> sequences;  // that they hold
  std::uint32_t promised = 0;           // cells that they will take beside, as far as can be foreseen
};

// Who wants one.
struct CellDemand {
  std::uint32_t cells = 0;   // that it will take
  std::int32_t source = -1;  // a sequence that it shares cells with; -1: none
  std::uint32_t shared = 0;  // so many of them
};

class CellLedger {
 public:
  // nullptr: there is no memory.
  void bind(const KvMemory* memory) { memory_ = memory; }

  // Whether sequences take cells from each other at all: not where each has a part, or all take the same.
  bool common() const { return memory_ != nullptr && memory_->shape().unified() && memory_->counts_cells(); }
  // Cells that nobody has.
  std::uint32_t free() const { return common() ? memory_->free_cells() : 0xFFFFFFFF; }
  // That giving up the sequence frees.
  std::uint32_t gain(std::int32_t sequence) const { return common() ? memory_->own_cells(sequence) : 0; }
  // Of all others than these: what can be had without taking anybody's place.
  std::uint32_t idle(std::span<const std::int32_t> running) const;
  // Whether there are cells for one more, at the cost of those at most that don't run.
  bool has_room(const CellClaims& claims, const CellDemand& demand) const;

 private:
  const KvMemory* memory_ = nullptr;
};

}  // namespace corral::engine
