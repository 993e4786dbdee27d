#include "downloads/cache_layout.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "downloads/errors.h"

namespace corral::downloads {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTemporary = ".corral-";

std::string folder_name(std::string_view repo) {
  std::string name = "models--";
  for (const char c : repo) c == '/' ? name += "--" : name += c;
  return name;
}

// A unique name for each writer, beside the file that it is renamed to.
fs::path temporary(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() / fmt::format("{}{}-{}", kTemporary, ::getpid(), ++counter);
}

// Removes files of killed writers: no write takes that long.
void remove_old_temporaries(const fs::path& folder) {
  constexpr std::time_t kLong = 3600;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    struct stat status{};
    if (!it->path().filename().native().starts_with(kTemporary) || ::lstat(it->path().c_str(), &status) != 0) continue;
    if (std::time(nullptr) - status.st_mtime > kLong) ::unlink(it->path().c_str());
  }
}

Result<> make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!failure) return {};
  std::error_code ignored;  // `failure` has the cause
  if (!fs::is_directory(folder, ignored)) return std::unexpected(disk_error(failure.value(), "making", folder));
  return {};
}

Result<> put_in_place(const fs::path& made, const fs::path& path) {
  if (::rename(made.c_str(), path.c_str()) == 0) return {};
  const int cause = errno;
  ::unlink(made.c_str());
  return std::unexpected(disk_error(cause, "writing", path));
}

// Every name in every snapshot: its path below the snapshot, and its blob (empty: not a blob of this cache).
struct Name {
  fs::path at;
  std::string path;
  std::string oid;
};
std::vector<Name> names_of(const RepoFolder& folder) {
  std::vector<Name> names;
  std::error_code failure;
  const fs::path snapshots = folder.root() / "snapshots";
  for (fs::directory_iterator commit(snapshots, failure), end; !failure && commit != end; commit.increment(failure)) {
    std::error_code inner;
    for (fs::recursive_directory_iterator it(commit->path(), inner), last; !inner && it != last; it.increment(inner)) {
      std::error_code ignored;
      if (!it->is_symlink(ignored)) continue;
      const fs::path target = fs::read_symlink(it->path(), ignored);
      const bool blob = target.parent_path().filename() == "blobs";
      names.push_back({it->path(), it->path().lexically_relative(commit->path()).native(),
                       blob ? target.filename().native() : std::string()});
    }
  }
  return names;
}

void remove_empty(fs::path folder, const fs::path& up_to) {
  std::error_code failure;
  // rmdir() fails on folders that aren't empty.
  while (folder != up_to && folder.has_relative_path() && ::rmdir(folder.c_str()) == 0) folder = folder.parent_path();
}

Result<> remove_one(const fs::path& path, Removed& removed) {
  std::error_code failure;
  const std::uint64_t size = fs::is_symlink(path, failure) ? 0 : fs::file_size(path, failure);
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return std::unexpected(disk_error(errno, "removing", path));
  }
  if (!failure) removed.freed += size;
  removed.files.push_back(path);
  return {};
}

}  // namespace

Error disk_error(int cause, std::string_view doing, const fs::path& path) {
  const bool full = cause == ENOSPC || cause == EDQUOT;
  return {make_error_code(full ? errc::disk_full : errc::disk_failed),
          full ? fmt::format("the disk is full ({} {}): free some space, then start again; the download resumes", doing,
                             path.native())
               : fmt::format("{} {} failed: {}", doing, path.native(), std::strerror(cause))};
}

RepoFolder::RepoFolder(fs::path cache, std::string_view repo)
    : cache_(std::move(cache)), root_(cache_ / folder_name(repo)), name_(folder_name(repo)) {}

fs::path RepoFolder::part(std::string_view oid) const { return root_ / "blobs" / fmt::format("{}.corral-part", oid); }
fs::path RepoFolder::progress(std::string_view oid) const {
  return root_ / "blobs" / fmt::format("{}.corral-part.json", oid);
}
fs::path RepoFolder::lock(std::string_view oid) const {
  return cache_ / ".locks" / name_ / fmt::format("{}.lock", oid);
}

bool has_blob(const RepoFolder& folder, std::string_view oid, std::uint64_t size) {
  std::error_code failure;
  const fs::path path = folder.blob(oid);
  return fs::is_regular_file(path, failure) && fs::file_size(path, failure) == size && !failure;
}

Result<> link_file(const RepoFolder& folder, std::string_view commit, std::string_view path, std::string_view oid) {
  const fs::path name = folder.snapshot(commit) / path;
  const fs::path target = folder.blob(oid).lexically_relative(name.parent_path());
  std::error_code failure;
  if (fs::is_symlink(name, failure) && fs::read_symlink(name, failure) == target) return {};
  if (auto made = make_folder(name.parent_path()); !made) return made;
  remove_old_temporaries(name.parent_path());
  const fs::path fresh = temporary(name);
  if (::symlink(target.c_str(), fresh.c_str()) != 0) return std::unexpected(disk_error(errno, "linking", name));
  return put_in_place(fresh, name);
}

Result<> write_ref(const RepoFolder& folder, std::string_view name, std::string_view commit) {
  const fs::path path = folder.ref(name);
  if (read_ref(folder, name) == commit) return {};
  if (auto made = make_folder(path.parent_path()); !made) return made;
  remove_old_temporaries(path.parent_path());
  const fs::path fresh = temporary(path);
  {
    const UniqueFd out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!out) return std::unexpected(disk_error(errno, "writing", path));
    // So few bytes are written completely or not at all. They are synced before the rename, since other tools accept an
    // empty reference.
    const ssize_t written = ::write(out.get(), commit.data(), commit.size());
    if (written != static_cast<ssize_t>(commit.size()) || ::fsync(out.get()) != 0) {
      const int cause = written < 0 || written == static_cast<ssize_t>(commit.size()) ? errno : ENOSPC;
      ::unlink(fresh.c_str());
      return std::unexpected(disk_error(cause, "writing", path));
    }
  }
  return put_in_place(fresh, path);
}

std::string read_ref(const RepoFolder& folder, std::string_view name) {
  std::ifstream in(folder.ref(name));
  std::string commit;
  in.width(256);
  in >> commit;
  return commit;
}

std::vector<std::string> blobs_in_use(const RepoFolder& folder) {
  std::vector<std::string> used;
  for (Name& name : names_of(folder))
    if (!name.oid.empty()) used.push_back(std::move(name.oid));
  std::ranges::sort(used);
  const auto rest = std::ranges::unique(used);
  used.erase(rest.begin(), rest.end());
  return used;
}

Result<Removed> remove_files(const RepoFolder& folder, std::span<const std::string> paths,
                             std::span<const std::string> models) {
  Removed removed;
  std::vector<std::string> meant;
  const auto names = names_of(folder);
  std::set<std::string> whole;  // blobs that go with all their names
  for (const Name& name : names)
    if (!name.oid.empty() && std::ranges::count(models, name.path) > 0) whole.insert(name.oid);
  for (const Name& name : names) {
    if (std::ranges::count(paths, name.path) == 0 && !whole.contains(name.oid)) continue;
    if (auto gone = remove_one(name.at, removed); !gone) return std::unexpected(std::move(gone.error()));
    remove_empty(name.at.parent_path(), folder.root() / "snapshots");
    if (!name.oid.empty()) meant.push_back(name.oid);
  }
  const std::vector<std::string> used = blobs_in_use(folder);
  for (const std::string& oid : meant) {
    if (std::ranges::binary_search(used, oid)) continue;
    if (auto gone = remove_one(folder.blob(oid), removed); !gone) return std::unexpected(std::move(gone.error()));
  }
  if (used.empty()) {
    remove_empty(folder.root() / "snapshots", folder.root());
    remove_empty(folder.root() / "blobs", folder.root());
  }
  return removed;
}

Result<Removed> remove_part(const RepoFolder& folder, std::string_view oid) {
  Removed removed;
  // The record first: bytes without a record are ignored, but bytes with one would be trusted.
  const fs::path unfinished = folder.progress(oid).native() + ".new";  // see state_file.h
  for (const fs::path& path : {folder.progress(oid), unfinished, folder.part(oid)})
    if (auto gone = remove_one(path, removed); !gone) return std::unexpected(std::move(gone.error()));
  remove_empty(folder.root() / "blobs", folder.root().parent_path());
  return removed;
}

}  // namespace corral::downloads
