#include "config/import_folders.h"

#include <utility>

#include <fmt/format.h>

#include "config/errors.h"

namespace corral::config {

Result<std::vector<ImportFolder>> parse_import_folders(std::string_view text) {
  std::vector<ImportFolder> folders;
  while (!text.empty()) {
    const auto end = text.find_first_of(" ,");
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (word.empty()) continue;
    const auto equals = word.find('=');
    ImportFolder folder{std::string(word.substr(0, equals)), {}};
    if (equals != word.npos) folder.path = word.substr(equals + 1);
    const bool known = folder.program == "ollama" || folder.program == "lmstudio";
    if (!known || (equals != word.npos && !folder.path.is_absolute()))
      return fail(errc::invalid_value,
                  fmt::format("'{}' is not a known program: use ollama or lmstudio, or ollama=/where/they/are", word),
                  "import_folders");
    folders.push_back(std::move(folder));
  }
  return folders;
}

}  // namespace corral::config
