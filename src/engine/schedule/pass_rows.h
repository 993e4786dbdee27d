// How many rows a pass of running streams has: which of them go at once, and how far the pass is filled up. Pure.
//
// Fewer rows aren't always quicker: kernels of CPUs compute rows in tiles, and seven rows can take a fifth longer than
// eight. So a pass is filled up with rows that nobody wants where that was measured to be quicker (table in
// docs/benchmarks.md, "Rows of a pass"). And there may be fast code for a single row, so that two or three
// take longer together than one after another.
#pragma once

#include <cstdint>

#include "engine/schedule/row_costs.h"

namespace corral::engine {

// Rows that may be added to a pass.
inline constexpr std::uint32_t kMaxPadding = 7;

// How many rows to compute where `rows` are wanted and up to `padding rows` more may be added. Whole tiles that weren't
// measured are tried, but not where more than half of the rows would be for nobody.
std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding, const RowCosts& costs);

struct StreamsView {
  std::uint32_t running = 0;  // sessions, each with a row
  std::uint32_t padding = 0;  // rows that may be added
  bool in_turns = false;      // so many went one at a time so far
};

// What running streams take for a token each, in ms, without prompts; 0: not known, or so many never ran.
double streams_ms(const StreamsView& streams, const RowCosts& costs);

struct Turn {
  std::uint32_t sessions = 0;
  bool trial = false;  // to find out what so many take
};
// How many of the running streams go into a pass when nothing else is to be done: all, or one at a time where that is
// quicker. What one row takes is tried out if it isn't known. Going from one to the other makes a token late, so it has
// to be clearly worth it.
Turn sessions_per_pass(const StreamsView& streams, const RowCosts& costs);

}  // namespace corral::engine
