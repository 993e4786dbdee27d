// Why a user can't read a file or folder: the first folder of the path that stops the user, and the command that fixes
// it. For services, whose user often can't enter the home folder of a person.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace corral {

// A user as the system sees files' permissions.
struct FileUser {
  uid_t id = 0;
  std::vector<gid_t> groups = {};
  std::string name = {};  // or the number
  bool is_this_process = false;
};
FileUser this_user();
// Groups as in the user database; nullopt: unknown user.
std::optional<FileUser> find_user(uid_t id);

// One component of a path, symbolic links resolved.
struct PathStep {
  std::filesystem::path path;
  int failed = 0;  // errno of the look; the members below are then unset
  bool is_folder = true;
  mode_t mode = 0;
  uid_t owner = 0;
  gid_t group = 0;
  std::string owner_name = {};
  bool allowed = true;  // to enter it, or to read it if it is the last one
};

struct AccessProblem {
  std::filesystem::path folder;
  std::string reason;   // "user 'corral' cannot enter '/home/jo' (mode 0700, owner 'jo')"
  std::string command;  // "sudo chmod o+x /home/jo"

  std::string text() const { return reason + ": run " + command; }
};

// The steps from "/" to the path, up to the first that can't be looked at. For this process `allowed` is the system's
// own answer, for other users it comes from the modes. Blocking.
std::vector<PathStep> path_steps(const std::filesystem::path& path, const FileUser& user);
// Whether the mode allows that: `need` has bits as of "others" (4 read, 1 enter). Pure.
bool mode_allows(const PathStep& step, const FileUser& user, mode_t need);
// nullopt: the user can read the last one. `wanted` is the whole path. Pure.
std::optional<AccessProblem> explain_access(std::span<const PathStep> steps, const FileUser& user,
                                            const std::filesystem::path& wanted);
// The same for a path of this machine. Blocking.
std::optional<AccessProblem> find_access_problem(const std::filesystem::path& path, const FileUser& user);

}  // namespace corral
