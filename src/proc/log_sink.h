// Where a child's lines go: the tail that is kept, the hook, the log of this program (level debug), a file. Used on the
// child's loop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "proc/child.h"

namespace corral::proc {

// Removes the logs of a folder (*.log, each with its older part), but for the `most` that were written last. Blocks on
// the disk; what can't be removed stays.
void keep_newest_logs(const std::filesystem::path& folder, std::size_t most);

// A log file that never grows past twice `max_bytes`: when full it is renamed to "<path>.1" and begun anew. Only the
// user may read it. When the file can't be written it warns once and stays silent after.
class LogFile {
 public:
  LogFile(std::filesystem::path path, std::size_t max_bytes);

  void append(std::string_view line);

 private:
  void open();
  void rotate();

  const std::filesystem::path path_;
  const std::size_t max_bytes_;
  UniqueFd file_;
  std::size_t size_ = 0;
};

class LogSink {
 public:
  explicit LogSink(const ChildSpec& spec);

  // One cleaned line.
  void add(bool from_stderr, std::string line);
  // The owner is gone: no more calls of the hook.
  void mute() { muted_ = true; }
  const LogTail& tail() const { return tail_; }

 private:
  const std::string name_;
  LogTail tail_;
  std::function<void(const LogLine&)> on_line_;
  std::optional<LogFile> file_;
  bool muted_ = false;
};

}  // namespace corral::proc
