#include "base/state_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace corral {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> refused(std::string_view what, const fs::path& path, int number) {
  const std::error_code code(number, std::system_category());
  return std::unexpected<Error>(std::in_place, code, fmt::format("{} {}: {}", what, path.native(), code.message()));
}

// The folders above may be as new as the file, created now or by a process that didn't wait for the disk. Folders that
// can't be opened aren't ours, so they are older.
void sync_folders_above(fs::path folder) {
  for (folder = fs::absolute(folder).lexically_normal(); folder.has_relative_path(); sync_folder(folder))
    folder = folder.parent_path();
}

// `like`: the new file gets its group and permissions; nullptr: only the user may read it.
Result<> write_whole(const fs::path& path, std::string_view text, Durability what, const struct stat* like) {
  std::error_code ignored;  // the following open reports a better error
  fs::create_directories(path.parent_path(), ignored);
  const fs::path fresh = path.native() + ".new";
  {
    const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return refused("can't write", path, errno);
    struct stat made{};
    const bool other_group = like != nullptr && ::fstat(file.get(), &made) == 0 && made.st_gid != like->st_gid;
    if (other_group && ::fchown(file.get(), static_cast<uid_t>(-1), like->st_gid) != 0) {
      const int cause = errno;
      ::unlink(fresh.c_str());
      return refused(fmt::format("can't keep the group {} of", like->st_gid), path, cause);
    }
    while (!text.empty()) {
      const auto put = ::write(file.get(), text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return refused("can't write", path, errno);
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    if (like != nullptr && ::fchmod(file.get(), like->st_mode & 07777) != 0) return refused("can't write", path, errno);
    if (what == Durability::power_loss && ::fsync(file.get()) != 0) return refused("can't write", path, errno);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return refused("can't write", path, errno);
  if (what == Durability::crash) return {};
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (const auto failed = sync_folder(folder)) return refused("can't write", path, failed.value());
  sync_folders_above(folder);
  return {};
}

}  // namespace

Result<std::optional<std::string>> read_state_file(const fs::path& path, std::size_t max) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file) return refused("can't read", path, errno);
  std::string text;
  char buffer[16 * 1024];
  while (text.size() < max) {
    const auto got = ::read(file.get(), buffer, std::min(sizeof buffer, max - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused("can't read", path, errno);
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

Result<> write_state_file(const fs::path& path, std::string_view text, Durability what) {
  return write_whole(path, text, what, nullptr);
}

Result<> replace_user_file(const fs::path& path, std::string_view text) {
  struct stat now{};
  const bool exists = ::stat(path.c_str(), &now) == 0;
  return write_whole(path, text, Durability::power_loss, exists ? &now : nullptr);
}

std::error_code sync_folder(const fs::path& folder) {
  const UniqueFd handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool synced = handle && ::fsync(handle.get()) == 0;
  return synced ? std::error_code() : std::error_code(errno, std::system_category());
}

fs::path set_aside(const fs::path& path) {
  fs::path aside = path.native() + ".broken";
  std::error_code error;
  for (int number = 2; fs::exists(aside, error) && number < 100; ++number) {
    aside = fmt::format("{}.broken-{}", path.native(), number);
  }
  fs::rename(path, aside, error);
  return error ? fs::path() : aside;
}

}  // namespace corral
