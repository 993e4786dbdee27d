#include "base/private_folder.h"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corral {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> refused(const fs::path& folder, std::error_code code, std::string_view why) {
  return std::unexpected<Error>(std::in_place, code, fmt::format("folder '{}' {}", folder.native(), why));
}
std::unexpected<Error> system_refused(const fs::path& folder, std::string_view what) {
  const std::error_code code(errno, std::system_category());
  return refused(folder, code, fmt::format("{}: {}", what, code.message()));
}
std::unexpected<Error> unsafe(const fs::path& folder, std::string_view why) {
  return refused(folder, std::make_error_code(std::errc::permission_denied), why);
}

Result<> make(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error) || folder.empty()) return {};
  if (auto made = make(folder.parent_path()); !made) return made;
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return system_refused(folder, "can't be made");
  return {};
}

}  // namespace

Result<> ensure_private_folder(const fs::path& folder) {
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  if (auto made = make(absolute); !made) return made;
  std::error_code error;
  const fs::path real = fs::canonical(absolute, error);
  if (error) return refused(folder, error, fmt::format("can't be reached: {}", error.message()));
  struct stat status{};
  if (::stat(real.c_str(), &status) != 0) return system_refused(folder, "can't be looked at");
  if (!S_ISDIR(status.st_mode))
    return refused(folder, std::make_error_code(std::errc::not_a_directory), "is no folder");
  if (status.st_uid != ::geteuid()) return unsafe(folder, "belongs to another user; choose one of your own");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return unsafe(folder, "can be written by other users; run chmod 700 on it, or choose another");
  for (fs::path above = real.parent_path();; above = above.parent_path()) {
    if (::stat(above.c_str(), &status) != 0) return system_refused(above, "can't be looked at");
    const bool open = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
    const bool root = above == above.parent_path();
    // The owner of the root (uid 65534 in some sandboxes) isn't checked.
    if (open || (!root && status.st_uid != ::geteuid() && status.st_uid != 0)) {
      return unsafe(
          folder, fmt::format("lies in '{}', where another user can replace it; choose one elsewhere", above.native()));
    }
    if (root) return {};
  }
}

Result<> close_to_others(const fs::path& folder) {
  if (auto made = make(fs::absolute(folder).lexically_normal()); !made) return made;
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return system_refused(folder, "can't be looked at");
  constexpr mode_t kOthers = S_IWGRP | S_IWOTH;
  if ((status.st_mode & kOthers) == 0 || ::chmod(folder.c_str(), status.st_mode & 07777 & ~kOthers) == 0) return {};
  if ((status.st_mode & S_IWOTH) == 0) return {};  // writable by a group that its owner chose
  return unsafe(folder, "can be written by other users; run chmod o-w on it, or choose another");
}

}  // namespace corral
