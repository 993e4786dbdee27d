// Cuts sound into pieces at pauses, as it arrives: programs that answer only as a whole then answer piece by piece.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dialects/audio/wav.h"

namespace corral::dialects::audio {

// Seconds of a piece. Whisper works on windows of 30 s, so longer pieces would be cut again, in the middle of words.
struct CutRules {
  double shortest = 15, longest = 30;
  double last = 1;  // of the last piece: some programs ignore shorter ones
};

struct SoundPiece {
  std::uint64_t first = 0;            // number of its first sample in the whole sound
  std::vector<std::int16_t> samples;  // one channel; never empty
};

class SoundCutter {
 public:
  // `format`: of the sound that comes.
  explicit SoundCutter(const WavFormat& format, const CutRules& rules = {});

  // Whole frames: one sample of each channel. Holds at most the longest piece, the last one, and what one call brings.
  void feed(std::span<const std::int16_t> samples);
  // No more samples follow.
  void end() { ended_ = true; }
  // Nothing: more samples are needed or, after end(), all are out.
  std::optional<SoundPiece> next();

 private:
  std::size_t pause(std::size_t from, std::size_t to) const;

  const std::uint16_t channels_;
  const std::size_t step_;  // samples of one energy
  const std::size_t shortest_, longest_, last_;
  std::vector<std::int16_t> held_;  // one channel, from the sample number first_
  std::vector<float> energies_;     // of each whole step in held_
  std::uint64_t first_ = 0;
  bool ended_ = false;
};

}  // namespace corral::dialects::audio
