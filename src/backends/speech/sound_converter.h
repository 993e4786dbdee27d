// Converts the audio formats of browsers and telephones to wav with ffmpeg, an external program. Each file gets its own
// process, which can't open other files or the network.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "async/timer.h"
#include "http/spool.h"
#include "proc/child.h"

namespace corral::backends {

class SoundConverter {
 public:
  virtual ~SoundConverter() = default;
  // Looked up each time: it may be installed while the server runs.
  virtual bool is_there() const = 0;
  // 16 kHz, one channel, 16 bits. Cancellation ends the process. Errors: protocol::errc::bad_value: it is no audio;
  // backend_not_installed, those of Spool.
  virtual async::Task<Result<std::shared_ptr<http::Spool>>> to_wav(std::shared_ptr<const http::Spool> sound,
                                                                   http::SpoolRoom& room) = 0;
};

class FfmpegConverter final : public SoundConverter {
 public:
  // `spawner` and `timers` must outlive it. `program`: the path of ffmpeg; empty: not installed.
  FfmpegConverter(proc::Spawner& spawner, async::Timers& timers, std::string (*program)())
      : spawner_(spawner), timers_(timers), program_(program) {}

  bool is_there() const override { return !program_().empty(); }
  async::Task<Result<std::shared_ptr<http::Spool>>> to_wav(std::shared_ptr<const http::Spool> sound,
                                                           http::SpoolRoom& room) override;

  // The command that reads `file`.
  static std::vector<std::string> command(const std::string& file);

 private:
  proc::Spawner& spawner_;
  async::Timers& timers_;
  std::string (*const program_)();
};

}  // namespace corral::backends
