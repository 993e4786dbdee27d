// Deleting a model, for every dialect.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "api/supply/context.h"
#include "api/supply/removal_plan.h"

namespace corral::api {

struct RemovalRequest {
  std::string name = {};
  bool models_dir = false;
  bool dry_run = false;
};

struct Removal {
  ModelName model;
  std::uint64_t freed = 0;                        // bytes; in a dry run the prediction
  std::vector<std::filesystem::path> files = {};  // deleted, or to be deleted
  std::vector<KeptFile> kept = {};
  std::string name_of = {};  // only a name was removed: of this model or file, which stays
};

// For an alias, or a name that a client registered, only the name is removed. A model in memory is unloaded first.
// Errors: unknown_model, model_busy, file_not_ours; those of unloading; downloads::errc::disk_failed.
async::Task<Result<Removal>> remove_model(SupplyContext& context, RemovalRequest wanted);

}  // namespace corral::api
