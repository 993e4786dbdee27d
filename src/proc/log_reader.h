// Reads a log file (log_sink.h) while another part of the program writes it, also across its renaming. Blocks for a few
// system calls.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace corral::proc {

class LogReader {
 public:
  // Starts at the last `lines` lines that the file has at the first read().
  LogReader(std::filesystem::path path, std::size_t lines);

  const std::filesystem::path& path() const { return path_; }
  // The next complete lines, of a bounded size in all; empty: there are none yet. The file may be missing.
  std::vector<std::string> read();

 private:
  bool open();
  bool is_renamed() const;
  bool read_piece();
  std::vector<std::string> next_lines();
  std::vector<std::string> take_lines();

  const std::filesystem::path path_;
  const std::size_t first_lines_;
  bool begun_ = false;
  UniqueFd file_;
  std::string rest_;  // read, and not returned yet
};

}  // namespace corral::proc
