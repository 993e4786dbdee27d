// Where rows that nobody wants can go in a pass (engine/schedule/pass_rows.h says when they pay), and that nothing of
// them stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

struct FillerRow {
  std::int32_t sequence = -1;
  std::uint32_t position = 0;
};
struct FilledPass {
  std::uint32_t rows = 0;      // without them
  std::uint32_t sessions = 0;  // all that run; in parts, these have the lowest sequences without gaps
  std::uint32_t longest = 0;   // cells that one of these has
  std::uint32_t most = 0;      // fillers
};

void find_filler_rows(const KvMemory& memory, const FilledPass& pass, std::vector<FillerRow>& found);
// They have been computed.
void clear_filler_rows(KvMemory& memory, std::span<const FillerRow> rows);

}  // namespace corral::engine
