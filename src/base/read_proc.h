// Reads a small file of /proc. A std::ifstream throws if the process ends between open() and read().
#pragma once

#include <filesystem>
#include <string>

namespace corral {

// The text of an open file from its beginning, at most `limit` bytes. Empty: it can't be read, or its process has
// ended.
std::string read_proc(int fd, std::size_t limit);
// Empty also if there is no such file.
std::string read_proc(const std::filesystem::path& file, std::size_t limit = 4096);

}  // namespace corral
