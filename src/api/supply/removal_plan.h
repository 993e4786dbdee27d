// Which files of a model go when it is deleted, and which stay: for another model, or because they are somebody else's.
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
  std::vector<std::filesystem::path> others = {};                 // files that are unlinked
  std::vector<KeptFile> kept = {};

  bool empty() const { return from_hub.empty() && others.empty(); }
};

// How a model has its name.
enum class NamedBy : std::uint8_t {
  files,  // by its files alone
  pull,   // an entry of user_models.json that a pull made: files that aren't ours stay, and only the name goes
  client  // an entry that a client made for a model or a file that was here: only the name goes
};

// Pure. `models_dir`: files there go too. Errors: errc::file_not_ours, which says whose it is and the way on.
Result<RemovalPlan> plan_removal(const models::Catalog& catalog, const models::ModelInfo& model,
                                 const ModelPlaces& places, NamedBy named, bool models_dir);

// Whether the path lies in the folder, by its name alone.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace corral::api
