#include "engine/pass_rows.h"

#include <algorithm>
#include <array>

namespace corral::engine {
namespace {

// Rows that kernels compute together: those of ggml for quantised weights on x86 and ARM.
constexpr std::array kTiles = {4u, 8u};
// What rows that nobody wants must win at least, of the pass.
constexpr double kLeastGain = 0.03;
// Streams change between going together and in turns when the other is this much quicker.
constexpr double kChange = 0.08;

std::uint32_t whole_tiles(std::uint32_t rows, std::uint32_t tile) { return (rows + tile - 1) / tile * tile; }

}  // namespace

std::uint32_t filled_rows(std::uint32_t rows, std::uint32_t fillers, const RowCosts& costs) {
  // A single row has code of its own, or waits for the weights like any number of them.
  if (rows < 2 || !costs.tried(rows)) return rows;
  std::uint32_t best = rows;
  double best_ms = costs.of(rows) * (1 - kLeastGain);
  for (const std::uint32_t tile : kTiles) {
    const std::uint32_t whole = whole_tiles(rows, tile);
    if (whole == rows || whole > rows + fillers || whole > RowCosts::kMostRows) continue;
    if (!costs.tried(whole)) return whole;
    if (costs.of(whole) >= best_ms) continue;
    best = whole;
    best_ms = costs.of(whole);
  }
  return best;
}

double streams_ms(std::uint32_t streams, const RowCosts& costs) {
  const std::uint32_t rows = std::min(streams, RowCosts::kMostRows);
  if (rows == 0) return 0;
  double least = 0;
  const auto consider = [&](std::uint32_t computed, std::uint32_t passes) {
    if (computed > RowCosts::kMostRows || !costs.measured(computed)) return;
    const double ms = passes * costs.of(computed);
    if (least == 0 || ms < least) least = ms;
  };
  consider(rows, 1);
  if (rows > 1) {
    for (const std::uint32_t tile : kTiles) consider(whole_tiles(rows, tile), 1);
    if (least > 0) consider(1, rows);
  }
  return least;
}

std::uint32_t sessions_per_pass(const StreamsView& streams, const RowCosts& costs) {
  const std::uint32_t running = streams.running;
  if (running < 2 || running > RowCosts::kMostRows) return running;
  const std::uint32_t filled = filled_rows(running, streams.fillers, costs);
  if (!costs.tried(filled)) return running;
  if (!costs.tried(1)) return 1;
  const double in_turns = costs.of(1) * running, together = costs.of(filled);
  const double margin = streams.in_turns ? 1 + kChange : 1 - kChange;
  return in_turns < together * margin ? 1 : running;
}

}  // namespace corral::engine
