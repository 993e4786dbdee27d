// Which range of which file to ask for next. Pure; one for each download.
//
// Files are fetched in bounded ranges, some of them side by side: servers refuse single answers of more than 50 GB, one
// slow connection isn't the speed of all, and what is lost with a connection is small. A server that knows no ranges
// gets one connection for the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "downloads/ranges.h"

namespace corral::downloads {

struct PartLimits {
  std::uint64_t smallest = 64ull << 20;  // bytes of a range, but for the last of a file
  std::uint64_t largest = 256ull << 20;
  std::size_t at_once = 4;  // ranges of a whole download
};

// The size of ranges of a file: a sixteenth of it, within the limits.
std::uint64_t part_size(std::uint64_t file_size, const PartLimits& limits);

struct Part {
  std::size_t file = 0;
  Range range = {};
};

class Parts {
 public:
  explicit Parts(PartLimits limits = {}) : limits_(limits) {}

  // The next file; `done` is there already. Returns its number, from 0.
  std::size_t add(std::uint64_t size, const RangeSet& done);
  // The next range to ask for, which counts as being fetched from then on; nothing when enough is fetched, or nothing
  // is left. Earlier files first.
  std::optional<Part> next();
  // So many bytes from the front of what is left of a part have been written; returns what is left.
  Part wrote(Part part, std::uint64_t bytes);
  // Nobody fetches what is left of the part any more.
  void give_back(const Part& part);
  // The file comes in one piece from now on: its server knows no ranges.
  void in_one_piece(std::size_t file) { files_[file].whole = true; }
  bool is_in_one_piece(std::size_t file) const { return files_[file].whole; }
  // What was there of the file is worth nothing.
  void discard(std::size_t file);
  // Nothing of the file is asked for any more.
  void drop(std::size_t file) { files_[file].dropped = true; }

  bool complete(std::size_t file) const { return files_[file].done.covers({0, files_[file].size}); }
  std::uint64_t size(std::size_t file) const { return files_[file].size; }
  const RangeSet& done(std::size_t file) const { return files_[file].done; }
  std::size_t fetching() const { return fetching_; }

 private:
  struct File {
    std::uint64_t size = 0;
    RangeSet done = {};
    RangeSet taken = {};  // done, or being fetched
    bool whole = false;
    bool dropped = false;
    std::size_t fetching = 0;
  };

  PartLimits limits_;
  std::vector<File> files_;
  std::size_t fetching_ = 0;
};

}  // namespace corral::downloads
