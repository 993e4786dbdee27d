#pragma once

#include <filesystem>

#include "base/unique_fd.h"

namespace corral::app {

// A folder for sockets that is this process's alone and goes with it. Those of processes that were killed, which could
// not take theirs away, go with the next one that is made beside them.
class RuntimeDir {
 public:
  // Throws when its sockets' names would be too long, when the parent can't be made, or others could put other sockets
  // in place of ours.
  explicit RuntimeDir(const std::filesystem::path& parent);
  ~RuntimeDir() { remove(); }
  RuntimeDir(const RuntimeDir&) = delete;
  RuntimeDir& operator=(const RuntimeDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void remove() const;

 private:
  std::filesystem::path path_;
  UniqueFd held_;  // says that it is in use, as long as this process lives
};

}  // namespace corral::app
