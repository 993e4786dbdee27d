// A blob in the making: its lock, its bytes, and the record of what is there. Blocking; the caller sees to it that only
// write() happens on a loop, which costs a copy into the system's cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "downloads/cache_layout.h"
#include "downloads/choice.h"
#include "downloads/ranges.h"

namespace corral::downloads {

// The lock that every tool of the hub takes before it fetches a blob. Held until it goes, or the process ends.
class BlobLock {
 public:
  // Nothing when somebody else has it. Where the file system knows no locks it is granted: two who fetch the same blob
  // write the same bytes. Errors: disk_full, disk_failed.
  static Result<std::optional<BlobLock>> try_take(const std::filesystem::path& path);

 private:
  explicit BlobLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

// How many bytes a folder's disk has left for this user; the folder, or the one above it that is there.
std::uint64_t free_bytes(const std::filesystem::path& folder);
// How many bytes the part of a file takes on the disk already.
std::uint64_t reserved_bytes(const RepoFolder& folder, const TreeFile& file);

class PartFile {
 public:
  // Makes it or goes on with it, and reserves all of its room. Who calls holds the lock. Errors: disk_full,
  // disk_failed.
  static Result<std::shared_ptr<PartFile>> open(RepoFolder folder, TreeFile file);

  PartFile(RepoFolder folder, TreeFile file, UniqueFd fd, RangeSet done);

  const RangeSet& done_at_open() const { return done_; }
  int fd() const { return fd_.get(); }

  // Errors: disk_full, disk_failed.
  Result<> write(std::uint64_t at, std::string_view bytes);
  // Brings what is written to the disk, then writes down that `done` is there. Any thread. Errors: as above.
  Result<> record(const RangeSet& done);
  // Gives it its name: it is whole, and its content is right. Errors: as above.
  Result<> publish();
  // Removes it and its record, for good. Errors: disk_failed.
  Result<> abandon();

 private:
  const RepoFolder folder_;
  const TreeFile file_;
  const UniqueFd fd_;
  const RangeSet done_;
  std::mutex mutex_;    // between record() and publish(), on threads that may wait for the disk
  bool ended_ = false;  // published or abandoned
};

}  // namespace corral::downloads
