#include "dialects/audio/resampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace corral::dialects::audio {
namespace {

constexpr double kZeros = 8;  // zeros of the sinc on each side

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

}  // namespace

Resampler::Resampler(std::uint32_t from, std::uint32_t to)
    : from_(from), to_(to), reach_(static_cast<std::int64_t>(std::ceil(kZeros * std::max(1.0, double(from) / to)))) {
  // Frequencies above the limit of the new rate are removed.
  const double cutoff = std::min(1.0, double(to) / from);
  const auto width = static_cast<std::size_t>(2 * reach_);
  weights_.resize(kPhases * width);
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    double sum = 0;
    for (std::size_t tap = 0; tap < width; ++tap) {
      const double distance = double(tap) - double(reach_ - 1) - double(phase) / kPhases;
      const double window =
          std::abs(distance) >= double(reach_) ? 0 : 0.5 + 0.5 * std::cos(std::numbers::pi * distance / double(reach_));
      const double weight = cutoff * sinc(cutoff * distance) * window;
      weights_[phase * width + tap] = static_cast<float>(weight);
      sum += weight;
    }
    for (std::size_t tap = 0; tap < width; ++tap) weights_[phase * width + tap] /= static_cast<float>(sum);
  }
  held_.assign(static_cast<std::size_t>(reach_), 0);  // silence before the first sample
  held_at_ = -reach_;
}

void Resampler::feed(std::span<const std::int16_t> samples, std::vector<std::int16_t>& out) {
  held_.insert(held_.end(), samples.begin(), samples.end());
  advance(out);
}

void Resampler::end(std::vector<std::int16_t>& out) {
  const auto last = held_at_ + static_cast<std::int64_t>(held_.size());
  held_.insert(held_.end(), static_cast<std::size_t>(reach_), 0);
  advance(out);
  // Places after the last sample are no sound.
  while (!out.empty() && next_ > 0 && static_cast<std::int64_t>((next_ - 1) * from_ / to_) >= last) {
    out.pop_back();
    --next_;
  }
}

void Resampler::advance(std::vector<std::int16_t>& out) {
  const auto width = static_cast<std::size_t>(2 * reach_);
  const auto end = held_at_ + static_cast<std::int64_t>(held_.size());
  while (true) {
    const std::uint64_t place = next_ * from_;
    const auto at = static_cast<std::int64_t>(place / to_);
    if (at + reach_ >= end) break;
    const auto phase = static_cast<std::size_t>(place % to_ * kPhases / to_);
    const float* const weights = weights_.data() + phase * width;
    const float* const from = held_.data() + (at - reach_ + 1 - held_at_);
    float sum = 0;
    for (std::size_t tap = 0; tap < width; ++tap) sum += weights[tap] * from[tap];
    out.push_back(static_cast<std::int16_t>(std::lround(std::clamp(sum, -32768.0F, 32767.0F))));
    ++next_;
  }
  const auto needed = static_cast<std::int64_t>(next_ * from_ / to_) - reach_ + 1;
  if (needed - held_at_ > 4096) {
    held_.erase(held_.begin(), held_.begin() + (needed - held_at_));
    held_at_ = needed;
  }
}

}  // namespace corral::dialects::audio
