// Changes the sample rate: each new sample is a sum of the samples around its place, weighted by a windowed sinc. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace corral::dialects::audio {

// One channel, samples of 16 bits. One stream, used by one thread at a time.
class Resampler {
 public:
  Resampler(std::uint32_t from, std::uint32_t to);

  // Appends to `out` the samples that are known by now.
  void feed(std::span<const std::int16_t> samples, std::vector<std::int16_t>& out);
  // The rest: after the last sample comes silence.
  void end(std::vector<std::int16_t>& out);

 private:
  static constexpr std::size_t kPhases = 256;
  void advance(std::vector<std::int16_t>& out);

  const std::uint32_t from_, to_;
  const std::int64_t reach_;    // samples on each side
  std::vector<float> weights_;  // of each phase, 2 · reach_ of them
  std::vector<float> held_;     // samples that are still needed
  std::int64_t held_at_ = 0;    // number of the first of them
  std::uint64_t next_ = 0;      // number of the next new sample
};

}  // namespace corral::dialects::audio
