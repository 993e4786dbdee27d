// Helpers of mesh tests: keys that are the same in each run, a temporary folder, tasks without a loop.
#pragma once

#include <filesystem>
#include <string>

#include <stdlib.h>

#include "async/loop.h"
#include "mesh/identity/keys.h"

namespace corral::mesh {

inline SigningKey test_key(unsigned number) {
  SigningKey::Seed seed{};
  seed[0] = static_cast<std::uint8_t>(number);
  seed[1] = static_cast<std::uint8_t>(number >> 8);
  return SigningKey::from_seed(seed);
}

// The result of a task that waits for nothing, such as tasks of stores without a thread for the disk.
template <typename T>
T at_once(async::Task<T> task) {
  async::Loop loop;
  return async::run_blocking(loop, std::move(task));
}

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "corral-mesh-XXXXXX").native();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace corral::mesh
