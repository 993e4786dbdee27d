// Pieces of an uploaded wav file, each as a wav file of its own, made one after the other as they are asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dialects/audio/sound_cutter.h"
#include "dialects/audio/wav_check.h"
#include "http/spool.h"

namespace corral::api {

struct WavPiece {
  double at = 0;  // its first second
  std::shared_ptr<http::Spool> wav;
};

// On one loop. Holds at most two pieces in memory, whatever the size of the file.
class WavPieces {
 public:
  // `wav` describes `file`, and its samples can be read. `room` must outlive it.
  WavPieces(std::shared_ptr<const http::Spool> file, const dialects::audio::CheckedWav& wav, http::SpoolRoom& room);

  // Nothing: there are no more. Errors: those of Spool.
  async::Task<Result<std::optional<WavPiece>>> next();
  double duration() const { return wav_.duration(); }

 private:
  async::Task<Result<>> read_more();

  const dialects::audio::CheckedWav wav_;
  http::SpoolRoom& room_;
  std::unique_ptr<http::ReplayableBody> file_;
  dialects::audio::SoundCutter cutter_;
  std::string held_;    // bytes of a sample that isn't complete
  std::uint64_t skip_;  // bytes before the samples
  std::uint64_t left_;  // bytes of samples
  bool ended_ = false;
};

}  // namespace corral::api
