// What a load with given options needs of the disk, and its order for an engine process. Pure.
#pragma once

#include <filesystem>
#include <vector>

#include "backends/engine_protocol.h"
#include "backends/load_options.h"
#include "models/model_info.h"

namespace corral::backends {

// Unsets options that have the value they have when unset, in whatever words: options that mean the same are equal.
void unset_usual(LoadOptions& options);

// The projector of a load: the file that `mmproj` names, else the model's own; empty: none.
std::filesystem::path projector_of(const models::ModelInfo& model, const LoadOptions& options);
// The files of the model itself that the load reads: its parts, and its own projector.
std::vector<std::filesystem::path> own_files_of(const models::ModelInfo& model, const LoadOptions& options);
// All files that the load reads.
std::vector<std::filesystem::path> files_of(const models::ModelInfo& model, const LoadOptions& options);

EngineLoad load_order(const models::ModelInfo& model, LoadOptions options);

}  // namespace corral::backends
