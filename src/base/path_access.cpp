#include "base/path_access.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shell_word.h"

namespace corral {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kRead = 4, kEnter = 1;
constexpr int kMaxLinks = 40;  // as in Linux

struct Account {
  std::string name;
  gid_t group = 0;
};

std::optional<Account> account_of(uid_t id) {
  std::array<char, 4096> space{};
  passwd row{};
  passwd* found = nullptr;
  if (::getpwuid_r(id, &row, space.data(), space.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return Account{row.pw_name, row.pw_gid};
}

std::string name_of_user(uid_t id) {
  const auto account = account_of(id);
  return account ? account->name : std::to_string(id);
}

mode_t need_of(const PathStep& step, bool last) {
  if (!step.is_folder) return kRead;
  return last ? kRead | kEnter : kEnter;
}

// The class of permissions that applies: the owner, the group, or others.
char class_of(const PathStep& step, const FileUser& user) {
  if (step.owner == user.id) return 'u';
  return std::ranges::find(user.groups, step.group) != user.groups.end() ? 'g' : 'o';
}

bool system_allows(const fs::path& path, mode_t need) {
  const int how = ((need & kRead) != 0 ? R_OK : 0) | ((need & kEnter) != 0 ? X_OK : 0);
  return ::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0;
}

std::string letters_of(mode_t need) {
  return fmt::format("{}{}", (need & kRead) != 0 ? "r" : "", (need & kEnter) != 0 ? "x" : "");
}

// Without empty ones and ".".
std::vector<fs::path> components(const fs::path& path) {
  std::vector<fs::path> names;
  for (const auto& name : path)
    if (!name.empty() && name != ".") names.push_back(name);
  return names;
}

AccessProblem kept_out(const PathStep& step, const FileUser& user, bool last) {
  const auto need = need_of(step, last);
  const auto path = step.path.native();
  const auto what = fmt::format("user '{}' cannot {} '{}'", user.name, last ? "read" : "enter", path);
  if (mode_allows(step, user, need)) {
    return {step.path,
            fmt::format("{}, although its mode {:04o} allows it; an ACL, a mount or ProtectHome of the service forbids "
                        "it",
                        what, step.mode),
            fmt::format("getfacl {} and systemctl cat corral", shell_word(path))};
  }
  const char permission_class = class_of(step, user);
  return {step.path, fmt::format("{} (mode {:04o}, owner '{}')", what, step.mode, step.owner_name),
          fmt::format("{}chmod {}+{} {}", permission_class == 'u' ? "" : "sudo ", permission_class, letters_of(need),
                      shell_word(path))};
}

}  // namespace

FileUser this_user() {
  FileUser user{.id = ::geteuid(), .groups = {::getegid()}, .name = name_of_user(::geteuid()), .is_this_process = true};
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> others(static_cast<std::size_t>(std::max(count, 0)));
  const int got = ::getgroups(static_cast<int>(others.size()), others.data());
  others.resize(static_cast<std::size_t>(std::max(got, 0)));
  user.groups.insert(user.groups.end(), others.begin(), others.end());
  return user;
}

std::optional<FileUser> find_user(uid_t id) {
  const auto account = account_of(id);
  if (!account) return std::nullopt;
  constexpr int kGroups = 256;
  std::vector<gid_t> groups(kGroups);
  int count = kGroups;
  if (::getgrouplist(account->name.c_str(), account->group, groups.data(), &count) < 0) count = kGroups;
  groups.resize(static_cast<std::size_t>(count));
  return FileUser{.id = id, .groups = std::move(groups), .name = account->name, .is_this_process = id == ::geteuid()};
}

bool mode_allows(const PathStep& step, const FileUser& user, mode_t need) {
  constexpr unsigned kOwnerShift = 6, kGroupShift = 3;
  if (user.id == 0) return true;
  const char permission_class = class_of(step, user);
  const unsigned shift = permission_class == 'u' ? kOwnerShift : permission_class == 'g' ? kGroupShift : 0;
  return ((step.mode >> shift) & need) == need;
}

std::vector<PathStep> path_steps(const fs::path& path, const FileUser& user) {
  std::vector<PathStep> steps;
  std::error_code unknown;  // the working directory was removed
  const auto names = components(fs::absolute(path, unknown));
  std::deque<fs::path> left(names.begin(), names.end());
  fs::path at = "/";
  for (int links = 0; !left.empty();) {
    const auto name = left.front();
    left.pop_front();
    const auto next = name == ".." ? at.parent_path() : at / name;
    struct stat status{};
    const bool seen = ::lstat(next.c_str(), &status) == 0;
    if (seen && S_ISLNK(status.st_mode)) {
      std::error_code failed;
      const auto target = fs::read_symlink(next, failed);
      if (failed || ++links > kMaxLinks) {
        steps.push_back({.path = next, .failed = failed ? failed.value() : ELOOP});
        return steps;
      }
      const auto inner = components(target);
      left.insert(left.begin(), inner.begin(), inner.end());
      if (target.is_absolute()) at = "/";
      continue;
    }
    at = next;
    PathStep step{.path = at, .failed = seen ? 0 : errno};
    if (seen) {
      step.is_folder = S_ISDIR(status.st_mode);
      step.mode = status.st_mode & 07777;
      step.owner = status.st_uid;
      step.group = status.st_gid;
      step.owner_name = name_of_user(status.st_uid);
      const auto need = need_of(step, left.empty());
      step.allowed = user.is_this_process ? system_allows(at, need) : mode_allows(step, user, need);
    }
    steps.push_back(std::move(step));
    if (!seen) return steps;
  }
  return steps;
}

std::optional<AccessProblem> explain_access(std::span<const PathStep> steps, const FileUser& user,
                                            const fs::path& wanted) {
  const PathStep* above = nullptr;
  for (const auto& step : steps) {
    const bool last = &step == &steps.back();
    if (step.failed == ENOENT) {
      const bool own = above != nullptr && above->owner == user.id;
      return AccessProblem{step.path, fmt::format("'{}' does not exist", step.path.native()),
                           fmt::format("{}mkdir -p {}", own ? "" : "sudo ", shell_word(wanted.native()))};
    }
    if (step.failed == EACCES && !user.is_this_process) {
      return AccessProblem{step.path,
                           fmt::format("only user '{}' or root can examine '{}'", user.name, step.path.native()),
                           fmt::format("sudo namei -l {}", shell_word(wanted.native()))};
    }
    if (step.failed != 0) {
      return AccessProblem{step.path,
                           fmt::format("'{}': {}", step.path.native(), std::generic_category().message(step.failed)),
                           fmt::format("namei -l {}", shell_word(wanted.native()))};
    }
    if (!step.allowed) return kept_out(step, user, last);
    above = &step;
  }
  return std::nullopt;
}

std::optional<AccessProblem> find_access_problem(const fs::path& path, const FileUser& user) {
  return explain_access(path_steps(path, user), user, path);
}

}  // namespace corral
