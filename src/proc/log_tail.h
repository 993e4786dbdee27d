// A child's output, cut into lines that are safe to show: valid UTF-8, no control characters, bounded length.
//
// A child may print anything: megabytes without a newline, progress bars, binary data. Memory stays within LogLimits in
// any case. Plain values without locks: used on the child's loop only.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::proc {

struct LogLimits {
  std::size_t lines = 200;         // lines kept
  std::size_t line_bytes = 4096;   // a longer line is cut and ends in "…"
  std::size_t bytes = 256 * 1024;  // of all lines kept
  // Read rate of each of its two outputs; a child that prints more waits. 0: no limit.
  std::size_t bytes_per_second = 0;
};

// The last lines of a child, oldest first. Kept after its end.
class LogTail {
 public:
  explicit LogTail(LogLimits limits) : limits_(limits) {}

  void add(std::string line);
  const std::deque<std::string>& lines() const { return lines_; }
  // The newest `count` lines, one per row, without a newline at the end.
  std::string text(std::size_t count = static_cast<std::size_t>(-1)) const;

 private:
  const LogLimits limits_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
};

// Cuts a stream of bytes into lines. Of a line that rewrites itself with carriage returns only the last state is kept.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes) : line_bytes_(line_bytes) {}

  // Calls `take` with each cleaned line that `bytes` completes.
  void feed(std::string_view bytes, const std::function<void(std::string)>& take);
  // The end of the stream: passes the last line if it lacks its newline.
  void finish(const std::function<void(std::string)>& take);

 private:
  void keep(std::string_view part);
  std::string take_line();

  const std::size_t line_bytes_;
  std::string pending_;
  bool cut_ = false;
};

// Valid UTF-8 without control characters (tabs stay): other bytes become U+FFFD.
std::string clean_text(std::string_view bytes);

}  // namespace corral::proc
