// Texts that come out of files, for people. Safe on every thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace corral::models {

// The text with control characters (C0, DEL, C1) and bytes that aren't UTF-8 replaced by '?', so that it can stand in a
// log line or in JSON; cut to `limit` bytes at a character's boundary.
std::string printable(std::string_view text, std::size_t limit = 256);

// A path in a message or a name.
std::string printable_path(const std::filesystem::path& path);

}  // namespace corral::models
