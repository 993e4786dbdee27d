// A partial blob: its lock, its bytes, and the record of fetched ranges. Blocking; the caller runs only write() on a
// loop, which costs a copy into the system's cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/mutex.h"
#include "base/unique_fd.h"
#include "downloads/cache_layout.h"
#include "downloads/hub/choice.h"
#include "downloads/transfer/ranges.h"

namespace corral::downloads {

// The lock that every tool of the hub takes before it fetches a blob. Held until the destructor, or the end of the
// process.
class BlobLock {
 public:
  // nullopt: another process holds it. If the file system has no locks, the lock is granted: two processes that fetch
  // the same blob write the same bytes. Errors: disk_full, disk_failed.
  static Result<std::optional<BlobLock>> try_take(const std::filesystem::path& path);

 private:
  explicit BlobLock(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

// Free bytes for this user on the folder's disk; if the folder doesn't exist, its nearest existing parent's.
std::uint64_t free_bytes(const std::filesystem::path& folder);
// Bytes that the file's part already takes on the disk.
std::uint64_t reserved_bytes(const RepoFolder& folder, const TreeFile& file);

class PartFile {
 public:
  // Creates or resumes the part, and reserves all of its space. The caller holds the lock. Errors: disk_full,
  // disk_failed.
  static Result<std::shared_ptr<PartFile>> open(RepoFolder folder, TreeFile file);

  PartFile(RepoFolder folder, TreeFile file, UniqueFd fd, RangeSet done);

  const RangeSet& done_at_open() const { return done_; }
  int fd() const { return fd_.get(); }

  // Errors: disk_full, disk_failed.
  Result<> write(std::uint64_t at, std::string_view bytes);
  // Syncs written bytes to the disk, then records that `done` is there. Any thread. Errors: as above.
  Result<> record(const RangeSet& done);
  // Renames the part to the blob; the caller has checked its content. Errors: as above.
  Result<> publish();
  // Removes the part and its record. Errors: disk_failed.
  Result<> abandon();

 private:
  const RepoFolder folder_;
  const TreeFile file_;
  const UniqueFd fd_;
  const RangeSet done_;
  Mutex mutex_;                            // between record() and publish(), on threads that may wait for the disk
  bool ended_ GUARDED_BY(mutex_) = false;  // published or abandoned
};

}  // namespace corral::downloads
