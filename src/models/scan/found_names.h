// Candidate names of a file, by its location and name. Pure.
#pragma once

#include <string>

#include "models/model_info.h"
#include "models/names/model_names.h"
#include "models/scan/file_scan.h"

namespace corral::models {

// The file's stem without the number of a shard.
std::string set_stem(const FoundFile& file);

// In a models dir: stem, place below the directory, the same with the directory's name before it. In the hub:
// "org/repo:QUANT", "org/repo:stem", "org/repo:place"; the quantisation is taken from the file's name, else from its
// folder's, else from its metadata. Of Ollama's: "x:TAG", "ollama.com/library/x:TAG", "ollama.com/library/x:place".
// Of addresses: stem, "host/stem".
WantedNames wanted_names(const FoundFile& file, const std::string& stem, const ModelTraits& traits);

}  // namespace corral::models
