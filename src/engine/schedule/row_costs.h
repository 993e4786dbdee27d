// Learns the time of forward passes by number of rows from past passes. Pure. One thread.
//
// A second row may cost a twentieth of a pass (a GPU waits for the weights anyway) or two passes (a CPU with fast code
// for one row only), and eight rows may cost less than seven: only measurements show it. Numbers that were not
// measured, or not recently, are assumed to be cheap, so that they are tried if that promises a gain.
//
// Passes get slower as histories grow, for all numbers of rows alike. So each pass also updates the numbers that did
// not occur recently.
#pragma once

#include <array>
#include <cstdint>

#include "engine/schedule/pass_costs.h"

namespace corral::engine {

class RowCosts final : public PassCosts {
 public:
  // Reports the time of a pass of `rows` rows without prompts.
  void observe(std::uint32_t rows, double ms);
  // Predicted time of a pass; in passes of one row as long as nothing was reported. `rows` is at least 1.
  double of(std::uint32_t rows) const override;
  // This number of rows was measured recently. At most kMaxRows.
  bool measured(std::uint32_t rows) const { return known(rows); }
  // Measured more than once: a single pass may have been disturbed.
  bool tried(std::uint32_t rows) const { return known(rows) && seen_[rows].often; }
  // Measured at any time.
  bool met(std::uint32_t rows) const { return seen_[rows].at != 0; }
  // A copy for other conditions, which change all passes by the same factor: the next passes show it. The time of one
  // row is unknown there.
  RowCosts elsewhere() const;

  // Measured passes after which a number of rows that did not occur in them is unknown again.
  static constexpr std::uint64_t kForgotten = 2000;

 private:
  struct Seen {
    double part = 0;         // of level_
    std::uint64_t at = 0;    // 0: never
    bool often = false;      // more than once
    bool elsewhere = false;  // measured before elsewhere() was called
  };
  double ms(std::uint32_t rows) const { return seen_[rows].part * level_; }
  bool known(std::uint32_t rows) const { return seen_[rows].at != 0 && seen_[rows].at + kForgotten > passes_; }
  void learn_level(double level);

  std::array<Seen, kMaxRows + 1> seen_ = {};
  double level_ = 1;  // ms; common factor of all numbers of rows
  // Passes, with rows that were measured elsewhere, that are still needed to learn the factor.
  std::uint32_t level_passes_ = 0;
  std::uint64_t passes_ = 0;
};

}  // namespace corral::engine
