#include "models/scan/given_files.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "models/names/given_model.h"
#include "models/names/model_names.h"
#include "models/scan/projectors.h"

namespace corral::models {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxEntries = 10'000;  // of the folder

std::string set_of(const fs::path& path) {
  const std::string stem = path.stem();
  const auto shard = parse_shard(stem);
  return shard ? std::string(shard->set) : stem;
}

}  // namespace

std::vector<fs::path> files_of_given(const fs::path& file) {
  auto files = files_of_set(file);
  std::vector<fs::path> projectors;
  bool only_family = true;
  const auto family = family_of(set_of(file));
  std::error_code error;
  std::size_t entries = 0;
  for (fs::directory_iterator it(file.parent_path(), error), end; !error && it != end; it.increment(error)) {
    if (++entries > kMaxEntries) break;
    const auto& path = it->path();
    if (to_lower(path.extension().native()) != ".gguf") continue;
    if (to_lower(path.stem().native()).contains("mmproj")) {
      projectors.push_back(path);
    } else {
      only_family = only_family && family_of(set_of(path)) == family;
    }
  }
  std::ranges::sort(projectors);
  for (auto& projector : projectors) {
    if (projector == file || !choose_projector(set_of(file), only_family, {{projector.stem()}})) continue;
    files.push_back(std::move(projector));
  }
  return files;
}

}  // namespace corral::models
