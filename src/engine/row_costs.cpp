#include "engine/row_costs.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr double kWeight = 0.2;   // of the newest pass
constexpr double kUnseen = 0.05;  // of a row that was never measured, in passes of one

double guess(std::uint32_t rows) { return 1 + kUnseen * (rows - 1); }

}  // namespace

void RowCosts::observe(std::uint32_t rows, double ms) {
  rows = std::clamp(rows, 1u, kMostRows);
  ++passes_;
  Seen& seen = seen_[rows];
  seen.ms = known(rows) ? seen.ms + kWeight * (ms - seen.ms) : ms;
  seen.at = passes_;
}

double RowCosts::of(std::uint32_t rows) const {
  rows = std::clamp(rows, 1u, kMostRows);
  std::uint32_t below = rows, above = rows;
  while (below > 0 && !known(below)) --below;
  while (above <= kMostRows && !known(above)) ++above;
  if (below == rows) return seen_[rows].ms;
  if (above > kMostRows) return below == 0 ? guess(rows) : seen_[below].ms * guess(rows) / guess(below);
  if (below == 0) return seen_[above].ms * guess(rows) / guess(above);
  const double part = static_cast<double>(rows - below) / (above - below);
  return seen_[below].ms + part * (seen_[above].ms - seen_[below].ms);
}

}  // namespace corral::engine
