// Imports a model's file into a folder of models: by a hard link, which needs no space, or as a copy.
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
  std::filesystem::path folder = {};  // created if missing
  std::string name = {};              // name of the file there, without ".gguf"; empty: unchanged
  bool copy = false;                  // copy even if a link is possible
};

struct ImportedModel {
  std::string name;                          // what the model is called
  std::vector<std::filesystem::path> files;  // where they are now, all parts of a set
  bool linked = false;                       // the same files under other names; else copies
  std::uint64_t bytes = 0;
};

// Copied bytes and total; returns false to cancel.
using ImportProgress = std::function<bool(std::uint64_t done, std::uint64_t total)>;

// Blocks until the copy is complete. No incomplete file appears under its final name. Errors: those of read_facts() for
// a file that is not a model; missing_shard; name_in_use if the folder has another file of that name; the system's own;
// operation_canceled.
Result<ImportedModel> import_file(const ImportRequest& request, const ImportProgress& progress = {});

}  // namespace corral::models
