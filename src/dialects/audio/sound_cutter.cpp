#include "dialects/audio/sound_cutter.h"

#include <algorithm>
#include <utility>

namespace corral::dialects::audio {
namespace {

constexpr std::uint32_t kStepsPerSecond = 50;
// Length of a pause between words.
constexpr std::size_t kPauseSteps = 10;

std::size_t samples_in(double seconds, std::uint32_t rate) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(seconds * rate));
}

}  // namespace

SoundCutter::SoundCutter(const WavFormat& format, const CutRules& rules)
    : channels_(std::max<std::uint16_t>(format.channels, 1)),
      step_(std::max<std::size_t>(1, format.rate / kStepsPerSecond)),
      shortest_(samples_in(rules.shortest, format.rate)),
      longest_(samples_in(rules.longest, format.rate)),
      last_(samples_in(rules.last, format.rate)) {}

void SoundCutter::feed(std::span<const std::int16_t> samples) {
  for (std::size_t at = 0; at + channels_ <= samples.size(); at += channels_) {
    int sum = 0;
    for (std::size_t channel = 0; channel < channels_; ++channel) sum += samples[at + channel];
    held_.push_back(static_cast<std::int16_t>(sum / channels_));
  }
  while ((energies_.size() + 1) * step_ <= held_.size()) {
    float energy = 0;
    for (std::size_t at = energies_.size() * step_, end = at + step_; at < end; ++at)
      energy += static_cast<float>(held_[at]) * static_cast<float>(held_[at]);
    energies_.push_back(energy);
  }
}

// The middle of the quietest pause that lies between two samples; of equal ones the last.
std::size_t SoundCutter::pause(std::size_t from, std::size_t to) const {
  const auto begin = (from + step_ - 1) / step_;
  const auto end = std::min(to / step_, energies_.size());
  if (begin + kPauseSteps > end) return to;
  std::size_t best = begin;
  float quietest = -1;
  for (auto at = begin; at + kPauseSteps <= end; ++at) {
    float energy = 0;
    for (std::size_t i = 0; i < kPauseSteps; ++i) energy += energies_[at + i];
    if (quietest >= 0 && energy > quietest) continue;
    quietest = energy;
    best = at;
  }
  return (best + kPauseSteps / 2) * step_;
}

std::optional<SoundPiece> SoundCutter::next() {
  if (held_.empty() || (!ended_ && held_.size() < longest_ + last_)) return std::nullopt;
  auto size = held_.size();
  if (size > longest_) {
    const auto latest = std::max(shortest_, std::min(longest_, size - std::min(size, last_)));
    size = std::clamp<std::size_t>(pause(shortest_, latest), 1, longest_);
  }
  SoundPiece piece{first_, {held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(size)}};
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(size));
  first_ += size;
  // Pieces end at whole steps, unless no pause was found.
  if (size % step_ == 0) {
    energies_.erase(energies_.begin(), energies_.begin() + static_cast<std::ptrdiff_t>(size / step_));
  } else {
    energies_.clear();
    feed({});
  }
  return piece;
}

}  // namespace corral::dialects::audio
