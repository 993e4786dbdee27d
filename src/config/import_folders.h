// The setting import_folders: folders of other programs with models to list in place.
//
//   ollama lmstudio          where these programs usually have them
//   ollama=/srv/ollama       somewhere else
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

struct ImportFolder {
  std::string program;         // "ollama", "lmstudio"
  std::filesystem::path path;  // empty: the usual folder
  friend bool operator==(const ImportFolder&, const ImportFolder&) = default;
};

// Words separated by spaces or commas. Errors: invalid_value.
Result<std::vector<ImportFolder>> parse_import_folders(std::string_view text);

}  // namespace corral::config
