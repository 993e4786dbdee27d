// One file that is served instead of all that a scan would find, under the names that somebody gave it. Pure but for
// files_of_set(), which looks at no file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/model_type.h"
#include "models/catalog.h"

namespace corral::models {

struct GivenModel {
  std::filesystem::path file;           // of a split set: its first
  std::vector<std::string> names = {};  // the first one is its name, others find it too; none: as the file is called
  std::optional<ModelType> type = {};   // none: what the file says
  friend bool operator==(const GivenModel&, const GivenModel&) = default;
};

// All files of the set that it belongs to, or the one.
std::vector<std::filesystem::path> files_of_set(const std::filesystem::path& file);
// `found` in these files, with the model's names and type as they were given.
Catalog as_given(const Catalog& found, const GivenModel& given);

}  // namespace corral::models
