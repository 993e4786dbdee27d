// Number of rows in a pass of running streams: which streams are in it, and how many padding rows. Pure.
//
// Fewer rows are not always faster: CPU kernels compute rows in tiles, and seven rows can take a fifth longer than
// eight. So a pass gets padding rows if measurements show that it is faster with them (docs/benchmarks.md, "Rows of a
// pass"). And a CPU may have fast code for a single row, so that two or three rows take longer together than one after
// another.
#pragma once

#include <cstdint>

#include "engine/schedule/row_costs.h"

namespace corral::engine {

// Most padding rows of a pass.
inline constexpr std::uint32_t kMaxPadding = 7;

// Rows to compute if `rows` are needed and up to `padding` rows may be added. Tries whole tiles that were not measured,
// unless more than half of the rows would be padding.
std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding, const RowCosts& costs);

struct StreamsView {
  std::uint32_t running = 0;  // sessions, each with a row
  std::uint32_t padding = 0;  // most padding rows
  bool in_turns = false;      // the streams have gone one at a time so far
};

// Time for one token of each running stream, in ms, without prompts; 0: not known, or never measured with so many
// streams.
double streams_ms(const StreamsView& streams, const RowCosts& costs);

struct Turn {
  std::uint32_t sessions = 0;
  bool trial = false;  // to measure the time of so many
};
// Number of running streams in a pass without prompts: all, or one at a time if that is faster. Tries one row if its
// time is not known. A change between the two delays a token, so it must be clearly better.
Turn sessions_per_pass(const StreamsView& streams, const RowCosts& costs);

}  // namespace corral::engine
