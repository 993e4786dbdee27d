#include "downloads/transfer/part_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/state_file.h"
#include "downloads/errors.h"
#include "downloads/transfer/progress_file.h"

namespace corral::downloads {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kBlock = 512;  // the unit of st_blocks

Result<> make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!failure) return {};
  std::error_code ignored;  // the cause is known already
  if (!fs::is_directory(folder, ignored)) return std::unexpected(disk_error(failure.value(), "making", folder));
  return {};
}

Result<> reserve(int fd, const fs::path& path, std::uint64_t size) {
  struct stat now{};
  if (::fstat(fd, &now) != 0) return std::unexpected(disk_error(errno, "looking at", path));
  const bool sized = static_cast<std::uint64_t>(now.st_size) == size;
  if (size == 0 || (sized && static_cast<std::uint64_t>(now.st_blocks) * kBlock >= size)) return {};
  int failure = 0;
  while (::fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0) {
    failure = errno;
    if (failure != EINTR) break;
    failure = 0;
  }
  // A file system that can't reserve: a full disk is noticed during the download.
  if (failure == EOPNOTSUPP || failure == ENOSYS) failure = ::ftruncate(fd, static_cast<off_t>(size)) == 0 ? 0 : errno;
  if (failure == 0) return {};
  Error error = disk_error(failure, "reserving", path);
  error.memory.push_back({"disk", size, free_bytes(path.parent_path())});
  return std::unexpected(std::move(error));
}

}  // namespace

Result<std::optional<BlobLock>> BlobLock::try_take(const fs::path& path) {
  if (auto made = make_folder(path.parent_path()); !made) return std::unexpected(std::move(made.error()));
  while (true) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return std::unexpected(disk_error(errno, "opening", path));
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::optional<BlobLock>();
      break;  // the file system has no locks
    }
    // Another process may have removed the file, and a third one created it again: then this lock is useless.
    struct stat held{}, named{};
    const bool same = ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                      held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (same) return std::optional<BlobLock>(BlobLock(std::move(file)));
  }
}

std::uint64_t free_bytes(const fs::path& folder) {
  std::error_code ignored;
  fs::path there = fs::absolute(folder, ignored);
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  struct statvfs disk{};
  if (::statvfs(there.c_str(), &disk) != 0) return 0;
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

std::uint64_t reserved_bytes(const RepoFolder& folder, const TreeFile& file) {
  struct stat part{};
  if (::stat(folder.part(file.oid).c_str(), &part) != 0) return 0;
  return std::min(static_cast<std::uint64_t>(part.st_blocks) * kBlock, file.size);
}

PartFile::PartFile(RepoFolder folder, TreeFile file, UniqueFd fd, RangeSet done)
    : folder_(std::move(folder)), file_(std::move(file)), fd_(std::move(fd)), done_(std::move(done)) {}

Result<std::shared_ptr<PartFile>> PartFile::open(RepoFolder folder, TreeFile file) {
  const fs::path path = folder.part(file.oid);
  if (auto made = make_folder(path.parent_path()); !made) return std::unexpected(std::move(made.error()));
  // A record for another size, or bytes without a record, are ignored.
  struct stat old{};
  RangeSet done;
  const bool there = ::stat(path.c_str(), &old) == 0 && static_cast<std::uint64_t>(old.st_size) == file.size;
  if (there) done = load_progress(folder.progress(file.oid), file.size).done;
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return std::unexpected(disk_error(errno, "opening", path));
  if (!there) {
    ::unlink(folder.progress(file.oid).c_str());
    if (::ftruncate(fd.get(), 0) != 0) return std::unexpected(disk_error(errno, "emptying", path));
  }
  if (auto reserved = reserve(fd.get(), path, file.size); !reserved) {
    // The file was just created: removes it, which frees its space.
    if (!there) ::unlink(path.c_str());
    return std::unexpected(std::move(reserved.error()));
  }
  return std::make_shared<PartFile>(std::move(folder), std::move(file), std::move(fd), std::move(done));
}

Result<> PartFile::write(std::uint64_t at, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::unexpected(disk_error(written < 0 ? errno : EIO, "writing", folder_.part(file_.oid)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<> PartFile::record(const RangeSet& done) {
  const MutexLock lock(mutex_);
  if (ended_) return {};
  if (::fdatasync(fd_.get()) != 0) return std::unexpected(disk_error(errno, "writing", folder_.part(file_.oid)));
  return save_progress(folder_.progress(file_.oid), {.size = file_.size, .done = done});
}

Result<> PartFile::abandon() {
  const MutexLock lock(mutex_);
  ended_ = true;
  auto removed = remove_part(folder_, file_.oid);
  if (!removed) return std::unexpected(std::move(removed.error()));
  return {};
}

Result<> PartFile::publish() {
  const MutexLock lock(mutex_);
  if (::fdatasync(fd_.get()) != 0) return std::unexpected(disk_error(errno, "writing", folder_.part(file_.oid)));
  const fs::path blob = folder_.blob(file_.oid);
  if (::rename(folder_.part(file_.oid).c_str(), blob.c_str()) != 0)
    return std::unexpected(disk_error(errno, "naming", blob));
  ended_ = true;
  // The name is synced before anything refers to it. A failure can't be helped on file systems without this.
  sync_folder(blob.parent_path());
  ::unlink(folder_.progress(file_.oid).c_str());
  return {};
}

}  // namespace corral::downloads
