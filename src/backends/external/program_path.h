// Finds the program that a descriptor names. Reads the disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace corral::backends {

// A path with a slash is used unchanged; a name is searched in `folders`, then in those of `path` (as of PATH). Empty:
// no executable file of that name.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::vector<std::filesystem::path>& folders,
                                                  const std::string& path);

}  // namespace corral::backends
