// Aliases of models that the user has defined: aliases.json, an object from alias to model name.
//
//   {"chat": "Qwen/Qwen3-0.6B-GGUF:Q4_K_M",
//    "coder": {"model": "Qwen/Qwen3-0.6B-GGUF:Q4_K_M", "defaults": {"temperature": 0.2, "system": "Answer in code."}}}
//
// `defaults` are default values of request fields (config/load/request_defaults.h): several presets of one model, which
// is in memory once.
//
// An alias whose model is missing finds nothing until the model is back. Model names take precedence over aliases, and
// aliases over the automatic other names of models.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "models/catalog.h"

namespace corral::models {

struct Alias {
  std::string target;         // the name of a model
  std::string defaults = {};  // a JSON object of request fields; empty: none

  friend bool operator==(const Alias&, const Alias&) = default;
};
using Aliases = std::map<std::string, Alias, std::less<>>;
using KnownNames = std::map<std::string, std::string, std::less<>>;  // to the source of a model

// A missing file has no aliases; invalid entries are ignored. Blocks for the read.
Aliases read_aliases(const std::filesystem::path& file);
// The catalog lists these aliases (Catalog::user_aliases). Pure.
Catalog add_aliases(Catalog found, const Aliases& aliases);
// Adds names of known models (config/files/known_models.h) that are present. A name that already finds a model stays.
// Pure.
Catalog add_known_names(Catalog found, const KnownNames& known);

}  // namespace corral::models
