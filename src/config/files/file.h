// The configuration file: TOML, one key for each option, no sections.
//   port = 8001
//   models_dir = ["~/models", "/srv/models"]
//   swap_patience = "500ms"
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "config/options/assign.h"

namespace corral::config {

using FileValues = std::map<std::string, Given, std::less<>>;

enum class MissingFile { is_fine, is_an_error };
enum class UnknownKeys { are_errors, are_ignored };

// Errors: unreadable_file, malformed_file (with line and column), unknown_key (with a close name), invalid_value (a
// table or a date where a value belongs).
Result<FileValues> read_file(const std::filesystem::path& path, const Paths& paths, MissingFile missing,
                             UnknownKeys unknown);

}  // namespace corral::config
