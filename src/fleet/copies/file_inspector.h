// Looks at the files of a model that another node gave, before they get their names: in a child process that can do
// nothing but read them (app/inspect_process.h), so that a file that breaks its reader breaks nothing else.
//
// The child speaks in lines on its standard output, of which the first word counts:
//   missing FENCE: WHY    of proc/sandbox.h
//   locked                from here on nothing that it says is believed, but that it refuses
//   refused WHY           and ends with kFilesRefused
//   trouble WHY           and ends with kCantInspect
// It ends with 0 when the files are sound.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "proc/child.h"
#include "proc/sandbox.h"

namespace corral::fleet {

inline constexpr std::string_view kMissingWord = "missing", kLockedWord = "locked", kRefusedWord = "refused",
                                  kTroubleWord = "trouble";
inline constexpr int kFilesRefused = 65, kCantInspect = 69;

// On one loop.
class FileInspector {
 public:
  // For headers of a few megabytes; a disk that hangs mustn't keep a copy for ever.
  static constexpr Millis kLimit{120'000};

  // All outlive it and its tasks. `program`: corral itself.
  FileInspector(proc::Spawner& spawner, async::Timers& timers, std::filesystem::path program)
      : spawner_(spawner), timers_(timers), program_(std::move(program)) {}

  // The files where they are, all parts in their order, the projector last. Cancelling ends the child. Errors:
  // errc::files_refused, which names the file and the reason; errc::not_inspected, when nobody could look: the child
  // couldn't be started or locked in, took longer than kLimit, or was ended by somebody.
  async::Task<Result<>> inspect(std::vector<std::filesystem::path> files);
  // How well a child is locked in on this machine. Errors: not_inspected.
  async::Task<Result<proc::Sandboxed>> examine();

 private:
  struct Report;
  async::Task<Report> run(std::vector<std::filesystem::path> files);

  proc::Spawner& spawner_;
  async::Timers& timers_;
  const std::filesystem::path program_;
};

}  // namespace corral::fleet
