// Observations counted in fixed buckets, as in Prometheus: a bucket has the values up to its bound, the last one has
// all values. A plain value: a copy is a snapshot.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace corral {

class Histogram {
 public:
  static constexpr std::size_t kMaxBounds = 16;

  // Ascending, at most kMaxBounds; they must outlive the histogram (a constexpr array).
  explicit constexpr Histogram(std::span<const double> bounds)
      : bounds_(bounds.first(std::min(bounds.size(), kMaxBounds))) {}

  void observe(double value) {
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += value;
  }
  // `other` must have the same bounds.
  void add(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }

  std::span<const double> bounds() const { return bounds_; }
  // Observations of at most bounds()[i]; with i = bounds().size() all.
  std::uint64_t at_most(std::size_t i) const {
    std::uint64_t total = 0;
    for (std::size_t bucket = 0; bucket <= i; ++bucket) total += counts_[bucket];
    return total;
  }
  std::uint64_t count() const { return at_most(bounds_.size()); }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<std::uint64_t, kMaxBounds + 1> counts_{};
  double sum_ = 0;
};

}  // namespace corral
