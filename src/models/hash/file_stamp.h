// Identifies the state of a file, to detect changes.
#pragma once

#include <cstdint>

struct stat;

namespace corral::models {

struct FileStamp {
  std::uint64_t device = 0;  // may change for the same file when the machine restarts
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since the epoch
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

FileStamp stamp_of(const struct ::stat& status);

}  // namespace corral::models
