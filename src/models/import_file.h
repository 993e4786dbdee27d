// Brings a model's file into a folder of models: by a hard link, which takes no room, or as a copy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::models {

struct ImportRequest {
  std::filesystem::path file = {};    // of a split set any part
  std::filesystem::path folder = {};  // made if need be
  std::string name = {};              // what the file is called there, without ".gguf"; empty: as it is
  bool copy = false;                  // also where a link would go
};

struct ImportedModel {
  std::string name;                          // what the model is called
  std::vector<std::filesystem::path> files;  // where they are now, all parts of a set
  bool linked = false;                       // the same files under other names; else copies
  std::uint64_t bytes = 0;
};

// How many bytes are copied, of how many; false ends it.
using ImportProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

// Blocks, for a copy as long as that takes. Nothing is there under its name before it is whole. Errors: those of
// read_facts() for what is no model; missing_shard; name_in_use where the folder has another file of that name; the
// system's own; operation_canceled.
Result<ImportedModel> import_file(const ImportRequest& wish, const ImportProgress& progress = {});

}  // namespace corral::models
