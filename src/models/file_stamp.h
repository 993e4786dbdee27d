// Tells whether a file is still the one that was seen.
#pragma once

#include <cstdint>

struct stat;

namespace corral::models {

struct FileStamp {
  std::uint64_t device = 0;  // other numbers may lead to the same file after a restart of the machine
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since the epoch
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

FileStamp stamp_of(const struct ::stat& status);

}  // namespace corral::models
