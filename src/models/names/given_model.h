// One model file that is served instead of all scanned models, under given names. Pure; even files_of_set() opens no
// file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/model_type.h"
#include "models/catalog.h"

namespace corral::models {

struct GivenModel {
  std::filesystem::path file;           // of a split set: one of them; empty: not known yet, so there is no model
  std::vector<std::string> names = {};  // the first is its name, the others are aliases; none: the file's name
  std::optional<ModelType> type = {};   // none: what the file says
  std::vector<std::string> tags = {};   // lists show them
  friend bool operator==(const GivenModel&, const GivenModel&) = default;
};

// All files of the set that it belongs to, or the one.
std::vector<std::filesystem::path> files_of_set(const std::filesystem::path& file);
// `found` in these files, with the model's names and type as they were given.
Catalog as_given(const Catalog& found, const GivenModel& given);

}  // namespace corral::models
