// The progress of a download, on standard error: on a terminal a bar for each active file and one for all files,
// elsewhere a line for each tenth.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/server/download_wire.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {

// The growth rate of a count over the last seconds.
class Rate {
 public:
  void add(MonoTime now, std::uint64_t count);
  // Per second; nothing while unknown.
  std::optional<double> per_second() const;

 private:
  struct Sample {
    MonoTime at;
    std::uint64_t count;
  };
  std::deque<Sample> samples_;
};

class FileBars {
 public:
  FileBars(const Terminal& terminal, const Clock& clock) : terminal_(terminal), clock_(clock) {}
  ~FileBars() { clear(); }
  FileBars(const FileBars&) = delete;
  FileBars& operator=(const FileBars&) = delete;

  void show(const DownloadProgress& download);
  // Removes the bars from the screen.
  void clear();

 private:
  std::vector<std::string> lines_of(const DownloadProgress& download);
  void print_tenths(const DownloadProgress& download);

  const Terminal& terminal_;
  const Clock& clock_;
  std::map<std::string, Rate, std::less<>> rates_;  // by path
  std::size_t drawn_ = 0;                           // lines on the screen
  std::vector<std::string> shown_;
  int tenths_ = -1;  // printed last
};

// "35 MiB/s, 80 s left"; only known parts.
std::string pace_text(std::optional<double> bytes_per_second, std::optional<double> seconds_left);

}  // namespace corral::cli
