// The next range to request, and its file. Pure; one object for each download.
//
// Files are fetched in limited ranges, some of them in parallel. Servers refuse single responses of more than 50 GB,
// one slow connection doesn't limit the others, and a broken connection loses little. A server without ranges gets one
// connection for the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "downloads/transfer/ranges.h"

namespace corral::downloads {

struct PartLimits {
  std::uint64_t smallest = 64ull << 20;  // bytes of a range, except for the last of a file
  std::uint64_t largest = 256ull << 20;
  std::size_t at_once = 4;  // ranges in parallel, for a whole download
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

  // Adds the next file; `done` is fetched already. Returns its number, from 0.
  std::size_t add(std::uint64_t size, const RangeSet& done);
  // The next range to request, which counts as being fetched from then on; nullopt: enough ranges are being fetched, or
  // none is left. Earlier files first.
  std::optional<Part> next();
  // `bytes` at the front of the part's rest have been written; returns the new rest.
  Part wrote(Part part, std::uint64_t bytes);
  // The rest of the part is no longer being fetched.
  void give_back(const Part& part);
  // The file is fetched in one piece from now on: its server supports no ranges.
  void in_one_piece(std::size_t file) { files_[file].whole = true; }
  bool is_in_one_piece(std::size_t file) const { return files_[file].whole; }
  // Forgets all bytes of the file.
  void discard(std::size_t file);
  // Requests nothing more of the file.
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
