// A small file that is rewritten often, and of which only the newest text matters. A thread writes one text after the
// other, since a disk may be slow or hang. Of texts that arrive during a write only the last one is written.
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
  // All outlive this object, and `disk` also its work. `write` is called on the disk's thread.
  KeptFile(async::Executor executor, async::Timers& timers, async::ThreadPool& disk, std::filesystem::path file,
           Write write);

  const std::filesystem::path& path() const { return file_; }
  // Writes the text after the write in progress. `done` is called on the loop after success or failure. If another text
  // comes before the write starts, this text is skipped, and its `done` is called with that of the newer text.
  void write(std::string text, Done done);
  // Start of the write that the disk has not finished.
  std::optional<MonoTime> waiting_since() const { return began_; }
  // Waits until the last text is written or has failed, at most `within`; false: it may not be written. No callback is
  // called afterwards.
  async::Task<bool> finish(Millis within);
  // Ends without waiting for writes.
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
