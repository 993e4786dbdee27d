#include "engine/pass/padding_rows.h"

#include <algorithm>

namespace corral::engine {

void find_padding_rows(const KvMemory& memory, const PaddedPass& pass, std::vector<PaddingRow>& found) {
  found.clear();
  if (!memory.takes_padding()) return;
  if (memory.shape().unified()) {
    const std::int32_t sequence = memory.spare_sequence();
    const std::uint32_t free = memory.free_cells();
    const std::uint32_t room = free - std::min(free, pass.rows);
    for (std::uint32_t i = 0; i < std::min(pass.max, room); ++i) found.push_back({.sequence = sequence, .position = i});
    return;
  }
  // One row for each free part. Not in a part that is longer than those of the pass: all would take as long as that
  // one.
  if (pass.rows > pass.sessions) return;
  const std::uint32_t longest = std::min(pass.longest, memory.cells_per_sequence() - 1);
  const std::uint32_t end = std::min(pass.sessions + pass.max, memory.sequence_ids());
  for (std::uint32_t part = pass.sessions; part < end; ++part) {
    const auto sequence = memory.first_sequence() + static_cast<std::int32_t>(part);
    const std::uint32_t length = memory.length(sequence);
    if (length > longest) return;
    found.push_back({.sequence = sequence, .position = length});
  }
}

void clear_padding_rows(KvMemory& memory, std::span<const PaddingRow> rows) {
  for (const PaddingRow& row : rows) {
    if (memory.length(row.sequence) > row.position) memory.trim(row.sequence, row.position);
  }
}

}  // namespace corral::engine
