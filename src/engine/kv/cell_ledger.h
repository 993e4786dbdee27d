// Cell accounting of a worker: the only source for admission, reclaim, preemption and restore. A shared cell counts
// once. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

// Tokens for which cells are reserved for each admitted session, so that it is not preempted at once.
inline constexpr std::uint32_t kPromisedTokens = 16;

// Cells of the admitted sessions.
struct CellClaims {
  std::vector<std::int32_t> sequences;  // their sequences
  std::uint32_t promised = 0;           // further cells that they will need, as far as known
};

// Cells of a session to be admitted.
struct CellDemand {
  std::uint32_t cells = 0;   // cells that it needs
  std::int32_t source = -1;  // a sequence that it shares cells with; -1: none
  std::uint32_t shared = 0;  // number of shared cells
};

class CellLedger {
 public:
  // nullptr: no memory.
  void bind(const KvMemory* memory) { memory_ = memory; }

  // Whether sequences compete for cells: not in a split layout, or if each sequence takes the same memory.
  bool common() const { return memory_ != nullptr && memory_->shape().unified() && memory_->counts_cells(); }
  // Cells that no sequence has.
  std::uint32_t free() const { return common() ? memory_->free_cells() : 0xFFFFFFFF; }
  // Cells that become free when the sequence is cleared.
  std::uint32_t gain(std::int32_t sequence) const { return common() ? memory_->own_cells(sequence) : 0; }
  // Cells of all sequences except `running`: they can be freed without a preemption.
  std::uint32_t idle(std::span<const std::int32_t> running) const;
  // Whether there are cells for `demand` if all idle sequences are evicted.
  bool has_room(const CellClaims& claims, const CellDemand& demand) const;

 private:
  const KvMemory* memory_ = nullptr;
};

}  // namespace corral::engine
