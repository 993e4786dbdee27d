#include "engine/schedule/pass_rows.h"

#include <algorithm>
#include <array>

namespace corral::engine {
namespace {

// Rows that kernels may compute together. Whether that pays is measured.
constexpr std::array kTiles = {4u, 8u};
// Least gain by padding rows, as a part of the pass.
constexpr double kLeastGain = 0.03;
// Streams change between one pass and turns if the other is this much faster.
constexpr double kChange = 0.08;

std::uint32_t whole_tiles(std::uint32_t rows, std::uint32_t tile) { return (rows + tile - 1) / tile * tile; }

bool may_fill(std::uint32_t rows, std::uint32_t padding, std::uint32_t whole) {
  return whole > rows && whole <= rows + std::min(rows, padding) && whole <= RowCosts::kMaxRows;
}

}  // namespace

std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t padding, const RowCosts& costs) {
  // A single row has its own code, or waits for the weights as any number of rows does.
  if (rows < 2 || !costs.tried(rows)) return rows;
  std::uint32_t best = rows;
  double best_ms = costs.of(rows) * (1 - kLeastGain);
  for (const std::uint32_t tile : kTiles) {
    const std::uint32_t whole = whole_tiles(rows, tile);
    if (!may_fill(rows, padding, whole)) continue;
    if (!costs.tried(whole)) return whole;
    if (costs.of(whole) >= best_ms) continue;
    best = whole;
    best_ms = costs.of(whole);
  }
  return best;
}

double streams_ms(const StreamsView& streams, const RowCosts& costs) {
  const std::uint32_t rows = std::min(streams.running, RowCosts::kMaxRows);
  // So many rows were measured at some time: then padded passes are considered, but not an estimate from one row.
  if (rows == 0 || !costs.met(rows)) return 0;
  double least = 0;
  const auto consider = [&](std::uint32_t computed, std::uint32_t passes) {
    if (!costs.measured(computed)) return;
    const double ms = passes * costs.of(computed);
    if (least == 0 || ms < least) least = ms;
  };
  consider(rows, 1);
  for (const std::uint32_t tile : kTiles) {
    const std::uint32_t whole = whole_tiles(rows, tile);
    if (may_fill(rows, streams.padding, whole)) consider(whole, 1);
  }
  if (least > 0) consider(1, rows);
  return least;
}

Turn sessions_per_pass(const StreamsView& streams, const RowCosts& costs) {
  const std::uint32_t running = streams.running;
  if (running < 2 || running > RowCosts::kMaxRows) return {.sessions = running};
  const std::uint32_t filled = filled_rows(running, streams.padding, costs);
  if (!costs.tried(filled)) return {.sessions = running, .trial = true};
  if (!costs.tried(1)) return {.sessions = 1, .trial = true};
  const double in_turns = costs.of(1) * running, together = costs.of(filled);
  const double margin = streams.in_turns ? 1 + kChange : 1 - kChange;
  return {.sessions = in_turns < together * margin ? 1 : running};
}

}  // namespace corral::engine
