// What forward passes of running streams take by the number of their rows: what a guess, or any row more, is weighed
// against. One thread.
#pragma once

#include <cstdint>

namespace corral::engine {

class PassCosts {
 public:
  virtual ~PassCosts() = default;
  // What a pass of so many rows takes, at least 1; in whatever unit, but the same for every number.
  virtual double of(std::uint32_t rows) const = 0;

  static constexpr std::uint32_t kMaxRows = 128;  // more count as so many
  static constexpr double kUnseen = 0.05;         // of a row that was never measured, in passes of one row
};

// A row more costs next to nothing: a GPU waits for the weights anyway.
class FlatRows final : public PassCosts {
 public:
  double of(std::uint32_t rows) const override { return 1 + kUnseen * (rows < kMaxRows ? rows - 1 : kMaxRows - 1); }
};

}  // namespace corral::engine
