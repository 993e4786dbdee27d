// Places padding rows in a pass (engine/schedule/pass_rows.h says when they pay), and removes what they leave in the KV
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv/kv_memory.h"

namespace corral::engine {

struct PaddingRow {
  std::int32_t sequence = -1;
  std::uint32_t position = 0;
};
struct PaddedPass {
  std::uint32_t rows = 0;      // without padding rows
  std::uint32_t sessions = 0;  // all that run; in a split layout they have the lowest sequences without gaps
  std::uint32_t longest = 0;   // most cells of one of these sessions
  std::uint32_t max = 0;       // padding rows
};

void find_padding_rows(const KvMemory& memory, const PaddedPass& pass, std::vector<PaddingRow>& found);
// Removes their cells after the pass.
void clear_padding_rows(KvMemory& memory, std::span<const PaddingRow> rows);

}  // namespace corral::engine
