// Distributes a child's lines: the kept tail, the hook, the log of this program (level debug), a file. Used on the
// child's loop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "proc/child.h"

namespace corral::proc {

// Removes the logs of a folder (*.log, each with its older part), except the `max` newest ones. Blocks on the disk;
// files that can't be removed stay.
void keep_newest_logs(const std::filesystem::path& folder, std::size_t max);

// A log file of at most twice `max_bytes`: when full it is renamed to "<path>.1" and a new one begins. Only the user
// may read it. If the file can't be written, it warns once and stays silent afterwards.
class LogFile {
 public:
  // `begins`: lines of earlier writers go to "<path>.1".
  LogFile(std::filesystem::path path, std::size_t max_bytes, bool begins = false);

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
  // The owner is destroyed: no further calls of the hook.
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
