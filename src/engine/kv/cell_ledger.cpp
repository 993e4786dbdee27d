#include "engine/kv/cell_ledger.h"

#include <algorithm>

namespace corral::engine {

std::uint32_t CellLedger::idle(std::span<const std::int32_t> running) const {
  const std::uint32_t used = memory_->n_ctx() - std::min(memory_->n_ctx(), memory_->free_cells());
  return used - std::min(used, memory_->cells_of(running));
}

bool CellLedger::has_room(const CellClaims& claims, const CellDemand& demand) const {
  if (!common()) return true;
  std::uint64_t taken = memory_->cells_of(claims.sequences);
  if (demand.source >= 0) {  // the shared cells of an idle source can't be freed then
    std::vector<std::int32_t> with_source = claims.sequences;
    with_source.push_back(demand.source);
    taken += std::min<std::uint64_t>(memory_->cells_of(with_source) - taken, demand.shared);
  }
  return taken + claims.promised + demand.cells <= memory_->n_ctx();
}

}  // namespace corral::engine
