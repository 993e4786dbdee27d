// Folders of models for the generator's tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <boost/json.hpp>

namespace corral::test_models {

// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Makes the small models of this seed into `folder`.
void make_into(const std::filesystem::path& folder, std::uint64_t seed);

std::string read_file(const std::filesystem::path& file);
boost::json::object read_manifest(const std::filesystem::path& folder);

// The set of seed 1 that the build made.
const std::filesystem::path& shared_models();

}  // namespace corral::test_models
