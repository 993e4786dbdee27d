#include "models_fixture.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <stdlib.h>

#include "../catalogue.h"
#include "../manifest.h"

namespace corral::test_models {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "corral-models-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void make_into(const std::filesystem::path& folder, std::uint64_t seed) {
  make_models({.out = folder, .vocabularies = CORRAL_VOCABULARIES, .seed = seed});
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

boost::json::object read_manifest(const std::filesystem::path& folder) {
  return boost::json::parse(read_file(folder / kManifestFile)).as_object();
}

const std::filesystem::path& shared_models() {
  static const std::filesystem::path kFolder = CORRAL_TEST_MODEL_FILES;
  return kFolder;
}

}  // namespace corral::test_models
