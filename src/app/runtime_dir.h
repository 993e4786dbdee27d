#pragma once

#include <filesystem>

namespace corral::app {

// A folder for sockets that is this process's alone and goes with it.
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
};

}  // namespace corral::app
