// What a forward pass takes by the number of its rows, learnt from the passes there were. Pure. One thread.
//
// A second row may cost a twentieth of a pass (a GPU waits for the weights anyway) or two passes (a CPU that has fast
// code for one row only), and eight rows less than seven: nothing but measuring tells. What wasn't measured, or not for
// long, is taken to be cheap, so that it is tried where that promises something.
//
// Passes get costlier as the histories of their sessions grow, for all numbers of rows alike: so each pass also tells
// something about those that didn't occur lately.
#pragma once

#include <array>
#include <cstdint>

#include "engine/schedule/pass_costs.h"

namespace corral::engine {

class RowCosts final : public PassCosts {
 public:
  // A pass of `rows` rows, no prompts among them, took so long.
  void observe(std::uint32_t rows, double ms);
  // What one would take now; in passes of one row as long as nothing was observed. `rows` is at least 1.
  double of(std::uint32_t rows) const override;
  // That many rows were measured, and not too long ago. At most kMaxRows.
  bool measured(std::uint32_t rows) const { return known(rows); }
  // More than once: a single pass may have been disturbed.
  bool tried(std::uint32_t rows) const { return known(rows) && seen_[rows].often; }
  // At any time.
  bool met(std::uint32_t rows) const { return seen_[rows].at != 0; }
  // The same for other conditions, which make all passes costlier or cheaper alike: the next ones show by how much. Of
  // passes of one row nothing is known there.
  RowCosts elsewhere() const;

  // Measured passes after which a number of rows that didn't occur in them is unknown again.
  static constexpr std::uint64_t kForgotten = 2000;

 private:
  struct Seen {
    double part = 0;         // of level_
    std::uint64_t at = 0;    // 0: never
    bool often = false;      // more than once
    bool elsewhere = false;  // measured before elsewhere() was asked
  };
  double ms(std::uint32_t rows) const { return seen_[rows].part * level_; }
  bool known(std::uint32_t rows) const { return seen_[rows].at != 0 && seen_[rows].at + kForgotten > passes_; }
  void learn_level(double level);

  std::array<Seen, kMaxRows + 1> seen_ = {};
  double level_ = 1;  // ms; what all numbers of rows have in common
  // Passes that are still to tell it, of rows that were measured elsewhere.
  std::uint32_t level_passes_ = 0;
  std::uint64_t passes_ = 0;
};

}  // namespace corral::engine
