// Folders of other programs whose models are listed where they are: the setting import_folders.
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
  std::filesystem::path path;  // empty: where it usually is
  friend bool operator==(const ImportFolder&, const ImportFolder&) = default;
};

// Words with spaces or commas between. Errors: invalid_value.
Result<std::vector<ImportFolder>> parse_import_folders(std::string_view text);

}  // namespace corral::config
