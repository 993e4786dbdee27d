// Time of forward passes of running streams by number of rows; used to decide about draft tokens and other further
// rows. One thread.
#pragma once

#include <cstdint>

namespace corral::engine {

class PassCosts {
 public:
  virtual ~PassCosts() = default;
  // Time of a pass of so many rows (at least 1), in any unit that is the same for all numbers.
  virtual double of(std::uint32_t rows) const = 0;

  static constexpr std::uint32_t kMaxRows = 128;  // more rows are treated as so many
  static constexpr double kUnseen = 0.05;         // assumed time of a row that was never measured, in passes of one
                                                  // row
};

// A further row costs next to nothing: a GPU waits for the weights anyway.
class FlatRows final : public PassCosts {
 public:
  double of(std::uint32_t rows) const override { return 1 + kUnseen * (rows < kMaxRows ? rows - 1 : kMaxRows - 1); }
};

}  // namespace corral::engine
