// Changes one setting in the text of a configuration file; the rest stays unchanged.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::config {

// `text` with `key = "value"`: replaces the value of the key, or adds a line at the end, or at the beginning if the end
// belongs to a table. Pure.
// Errors: malformed_file if the text is no TOML, or if its form leaves no safe place for the value.
Result<std::string> with_setting(std::string_view text, std::string_view key, const std::string& value);

// The text of `key` in the file, also of an array that the setting takes; nothing if the key or the file is missing.
// Errors: malformed_file if the file is no TOML or the value no text; system errors. Blocking.
Result<std::optional<std::string>> setting_in(const std::filesystem::path& file, std::string_view key);

// Like with_setting() for a file, which may be missing. Follows symbolic links, and keeps the group and the
// permissions. Errors: those of with_setting(); unreadable_file if the file belongs to another user; system errors.
// Blocking.
Result<> write_setting(const std::filesystem::path& file, std::string_view key, const std::string& value);

}  // namespace corral::config
