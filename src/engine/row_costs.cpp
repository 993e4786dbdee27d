#include "engine/row_costs.h"

#include <algorithm>
#include <utility>

namespace corral::engine {
namespace {

// Of the newest pass: in what all numbers of rows have in common, and in what is told apart.
constexpr double kLevelWeight = 0.15;
constexpr double kWeight = 0.05;
// A pass that took so many times as long as it should, or as short, was disturbed.
constexpr double kMostChange = 1.5;
constexpr double kUnseen = 0.05;  // of a row that was never measured, in passes of one

double guess(std::uint32_t rows) { return 1 + kUnseen * (rows - 1); }

}  // namespace

void RowCosts::observe(std::uint32_t rows, double ms) {
  rows = std::clamp(rows, 1u, kMostRows);
  ++passes_;
  Seen& seen = seen_[rows];
  if (!known(rows)) {
    seen = {.part = ms / level_, .at = passes_};
    return;
  }
  const bool from_elsewhere = seen.at <= here_since_;
  seen.at = passes_;
  if (!level_known_ && from_elsewhere) {
    set_level(ms / seen.part);
    return;
  }
  if (!std::exchange(seen.often, true)) {  // one of the two may have been disturbed
    seen.part = std::min(seen.part, ms / level_);
    return;
  }
  if (!level_known_) return;
  const double change = std::clamp(ms / this->ms(rows), 1 / kMostChange, kMostChange) - 1;
  level_ *= 1 + kLevelWeight * change;
  seen.part *= 1 + kWeight * change;
}

// What was measured here stays what it is.
void RowCosts::set_level(double level) {
  for (Seen& seen : seen_) {
    if (seen.at > here_since_ && seen.at != passes_) seen.part *= level_ / level;
  }
  level_ = level;
  level_known_ = true;
}

RowCosts RowCosts::elsewhere() const {
  RowCosts there = *this;
  there.level_known_ = false;
  there.here_since_ = passes_;
  there.seen_[1] = {};
  return there;
}

double RowCosts::of(std::uint32_t rows) const {
  rows = std::clamp(rows, 1u, kMostRows);
  std::uint32_t below = rows, above = rows;
  while (below > 0 && !known(below)) --below;
  while (above <= kMostRows && !known(above)) ++above;
  if (below == rows) return ms(rows);
  if (above > kMostRows) return below == 0 ? guess(rows) : ms(below) * guess(rows) / guess(below);
  if (below == 0) return ms(above) * guess(rows) / guess(above);
  const double part = static_cast<double>(rows - below) / (above - below);
  return ms(below) + part * (ms(above) - ms(below));
}

}  // namespace corral::engine
