// Small helpers for names and for texts that come out of files. ASCII case only: model names are file names, and what
// folds in one locale must fold in all. Safe on every thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace corral::models {

std::string to_lower(std::string_view text);
bool equal_folded(std::string_view a, std::string_view b);

// The text with control characters (C0, DEL, C1) and bytes that aren't UTF-8 replaced by '?', so that it can stand in a
// log line or in JSON; cut to `limit` bytes at a character's boundary.
std::string printable(std::string_view text, std::size_t limit = 256);

// A path in a message or a name.
std::string printable_path(const std::filesystem::path& path);

}  // namespace corral::models
