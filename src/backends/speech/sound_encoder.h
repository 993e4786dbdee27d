// Makes the sound formats of clients that this program can't make itself (opus, aac, flac) with ffmpeg, an external
// program: a process for each answer, which encodes the samples as they come.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dialects/audio/speech.h"
#include "proc/child.h"

namespace corral::backends {

class SoundEncoder {
 public:
  virtual ~SoundEncoder() = default;
  // Looked up each time: it may be installed while the server runs.
  virtual bool is_there() const = 0;
  // Returns when its first bytes have come, so that a failure is an error and no broken sound. Dropping the result ends
  // the process. Errors: backend_not_installed; those of the samples; load_failed: the program can't make it.
  virtual async::Task<Result<std::unique_ptr<http::BodySource>>> encode(dialects::audio::SpeechFormat format,
                                                                        dialects::audio::SpeechSamples samples) = 0;
};

class FfmpegEncoder final : public SoundEncoder {
 public:
  // `spawner` must outlive it. `program`: the path of ffmpeg; empty: not installed.
  FfmpegEncoder(proc::Spawner& spawner, std::string (*program)()) : spawner_(spawner), program_(program) {}

  bool is_there() const override { return !program_().empty(); }
  async::Task<Result<std::unique_ptr<http::BodySource>>> encode(dialects::audio::SpeechFormat format,
                                                                dialects::audio::SpeechSamples samples) override;

  // The command that encodes samples from standard input to standard output.
  static std::vector<std::string> command(const std::string& program, dialects::audio::SpeechFormat format,
                                          const dialects::audio::WavFormat& from);

 private:
  proc::Spawner& spawner_;
  std::string (*const program_)();
};

}  // namespace corral::backends
