// A small file that is written again and again, of which the newest text counts: on a thread, as a disk takes its time
// or hangs, one text after the other. Texts that come while one is written are written once, as the last of them.
//
// Belongs to one loop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/error.h"

namespace corral::fleet {

class KeptFile {
 public:
  using Write = std::function<Result<>(const std::filesystem::path&, std::string_view)>;
  using Done = std::function<void(const Result<>&)>;
  // All outlive it, the disk also its work. `write` is called on the disk's thread.
  KeptFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk, std::filesystem::path file,
           Write write);

  const std::filesystem::path& path() const { return file_; }
  // Writes it, after what was begun before; `done` is called on the loop when it is on the disk, or can't be. What
  // wasn't begun yet when another text comes is left out, and its `done` called with that one.
  void write(std::string text, Done done);
  // Since when the disk gives no answer to what is being written.
  std::optional<MonoTime> waiting_since() const { return began_; }
  // Waits until the last text is on the disk, or can't be, but no longer than that; false: it may not be. Nothing is
  // called from then on.
  async::Task<bool> finish(Millis within);
  // Waits for nothing.
  async::Task<void> stop();

 private:
  async::Task<void> work();

  async::Timers& timers_;
  async::ThreadPool& disk_;
  const std::filesystem::path file_;
  const Write write_;
  std::optional<std::string> next_;
  std::vector<Done> waiting_;  // for `next_`
  std::optional<MonoTime> began_;
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
