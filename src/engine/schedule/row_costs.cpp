#include "engine/schedule/row_costs.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

// Weights of the newest pass: in the common factor, and in the value of one number of rows.
constexpr double kLevelWeight = 0.15;
constexpr double kWeight = 0.05;
// A pass that took this many times as long as predicted, or as short, was disturbed.
constexpr double kMaxChange = 1.5;
constexpr std::uint32_t kLevelPasses = 2;

double estimate(std::uint32_t rows) { return FlatRows().of(rows); }

}  // namespace

void RowCosts::observe(std::uint32_t rows, double ms) {
  if (!(ms > 0)) return;  // the clock did not advance: no information
  rows = std::clamp(rows, 1u, kMaxRows);
  ++passes_;
  Seen& seen = seen_[rows];
  if (!known(rows)) {
    seen = {.part = ms / level_, .at = passes_};
    return;
  }
  seen.at = passes_;
  if (seen.elsewhere && level_passes_ > 0) return learn_level(ms / seen.part);
  if (!std::exchange(seen.often, true)) {  // one of the two may have been disturbed
    seen.part = std::min(seen.part, ms / level_);
    return;
  }
  const double change = std::clamp(ms / this->ms(rows), 1 / kMaxChange, kMaxChange) - 1;
  level_ *= 1 + kLevelWeight * change;
  seen.part *= 1 + kWeight * change;
}

// Uses the lower of two passes, since one may have been disturbed. Values that were measured here stay as they are.
void RowCosts::learn_level(double level) {
  if (level_passes_-- < kLevelPasses) level = std::min(level, level_);
  for (Seen& seen : seen_) {
    if (!seen.elsewhere) seen.part *= level_ / level;
  }
  level_ = level;
}

RowCosts RowCosts::elsewhere() const {
  RowCosts there = *this;
  there.level_passes_ = kLevelPasses;
  for (Seen& seen : there.seen_) seen.elsewhere = true;
  there.seen_[1] = {};
  return there;
}

double RowCosts::of(std::uint32_t rows) const {
  rows = std::clamp(rows, 1u, kMaxRows);
  std::uint32_t below = rows, above = rows;
  while (below > 0 && !known(below)) --below;
  while (above <= kMaxRows && !known(above)) ++above;
  if (below == rows) return ms(rows);
  if (above > kMaxRows) return below == 0 ? estimate(rows) : ms(below) * estimate(rows) / estimate(below);
  if (below == 0) return ms(above) * estimate(rows) / estimate(above);
  const double part = static_cast<double>(rows - below) / (above - below);
  return ms(below) + part * (ms(above) - ms(below));
}

}  // namespace corral::engine
