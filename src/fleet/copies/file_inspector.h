// Checks the files of a copied model before they get their names. A sandboxed child process reads them
// (app/inspect_process.h), so that a file that crashes or takes over its reader does no other harm.
//
// The child writes lines to its standard output; the first word of each line counts:
//   missing FENCE: WHY    of proc/sandbox.h
//   locked                sandboxed: of later lines only a refusal is trusted
//   refused WHY           exits with kFilesRefused
//   trouble WHY           exits with kCantInspect
// It exits with 0 if the files are valid.
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
  // Reading headers of a few megabytes; limits the time of a copy on a disk that hangs.
  static constexpr Millis kLimit{120'000};

  // All outlive it and its tasks. `program`: corral itself.
  FileInspector(proc::Spawner& spawner, async::Timers& timers, std::filesystem::path program)
      : spawner_(spawner), timers_(timers), program_(std::move(program)) {}

  // The files at their temporary place, all parts in order, the projector last. Cancelling ends the child. Errors:
  // errc::files_refused, which names the file and the reason; errc::not_inspected, if the child couldn't be started or
  // sandboxed, took longer than kLimit, or was killed.
  async::Task<Result<>> inspect(std::vector<std::filesystem::path> files);
  // The sandbox of a child on this machine. Errors: not_inspected.
  async::Task<Result<proc::Sandboxed>> examine();

 private:
  struct Report;
  async::Task<Report> run(std::vector<std::filesystem::path> files);

  proc::Spawner& spawner_;
  async::Timers& timers_;
  const std::filesystem::path program_;
};

}  // namespace corral::fleet
