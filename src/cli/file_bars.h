// A download as it goes on, on standard error: on a terminal a bar for each file that moves and one for all of them,
// elsewhere a line for each tenth of the way.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/download_wire.h"
#include "cli/terminal.h"

namespace corral::cli {

// How fast a count grows, by what it was in the last seconds.
class Rate {
 public:
  void add(MonoTime now, std::uint64_t count);
  // A second; nothing while too little is known.
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
  // Takes the bars off the screen.
  void clear();

 private:
  std::vector<std::string> lines_of(const DownloadProgress& download);
  void print_tenths(const DownloadProgress& download);

  const Terminal& terminal_;
  const Clock& clock_;
  std::map<std::string, Rate, std::less<>> rates_;  // by path
  std::size_t drawn_ = 0;                           // lines that stand on the screen
  std::vector<std::string> shown_;
  int tenths_ = -1;  // printed last
};

// "35 MiB/s, 80 s left"; as much of it as is known.
std::string pace_text(std::optional<double> bytes_per_second, std::optional<double> seconds_left);

}  // namespace corral::cli
