// Other names of models that somebody gave them: aliases.json, an object of alias to the name of a model.
//
//   {"chat": "Qwen/Qwen3-0.6B-GGUF:Q4_K_M"}
//
// An alias whose model isn't here finds nothing; it does again when the model is back. Names of models count more than
// aliases, aliases more than the other names that models have by themselves.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "models/catalog.h"

namespace corral::models {

using Aliases = std::map<std::string, std::string, std::less<>>;  // to the name of a model

// A missing file has none, and what makes no sense is passed over. Blocks for reading it.
Aliases read_aliases(const std::filesystem::path& file);
// Pure.
Catalog add_aliases(Catalog found, const Aliases& aliases);
// Names of known models (config/known_models.h) for those that are here. A name that finds a model already stays. Pure.
Catalog add_known_names(Catalog found, const Aliases& known);

}  // namespace corral::models
