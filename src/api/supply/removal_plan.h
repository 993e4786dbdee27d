// Decides which files of a deleted model are deleted, and which stay: for another model, or because they have another
// owner.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "api/supply/supply.h"
#include "models/catalog.h"

namespace corral::api {

struct KeptFile {
  std::filesystem::path path;
  std::vector<ModelName> needed_by;
};

struct RemovalPlan {
  std::map<std::string, std::vector<std::string>> from_hub = {};  // repository to paths in its snapshots
  std::map<std::string, std::vector<std::string>> weights = {};   // those of from_hub that go with all their names
  std::vector<std::filesystem::path> others = {};                 // files that are unlinked
  std::vector<KeptFile> kept = {};

  bool empty() const { return from_hub.empty() && others.empty(); }
};

// The origin of a model's name.
enum class NamedBy : std::uint8_t {
  files,  // from its files
  pull,   // an entry of user_models.json that a pull made: foreign files stay, and only the name is removed
  client  // an entry that a client made for a local model or file: only the name is removed
};

// Pure. `models_dir`: delete files there, too. Errors: errc::file_not_ours, which names the owner and the alternative.
Result<RemovalPlan> plan_removal(const models::Catalog& catalog, const models::ModelInfo& model,
                                 const ModelPlaces& places, NamedBy named, bool models_dir);

// Whether the path is in the folder, by its name alone.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace corral::api
