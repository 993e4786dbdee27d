#pragma once

#include <filesystem>

#include "base/unique_fd.h"

namespace corral::app {

// A private folder for this process's sockets, which is removed at its end. The next process with the same parent
// folder removes the folders of killed processes.
class RuntimeDir {
 public:
  // Throws if its sockets' paths would be too long, if the parent can't be created, or if other users could replace the
  // sockets.
  explicit RuntimeDir(const std::filesystem::path& parent);
  ~RuntimeDir() { remove(); }
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void remove() const;

 private:
  std::filesystem::path path_;
  UniqueFd held_;  // lock that marks the folder as in use, as long as this process lives
};

}  // namespace corral::app
