// Where a program is that a descriptor names. Looks at the disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace corral::backends {

// A path with a slash is taken as it is; a name is looked for in `folders`, then in those of `path` (as of PATH).
// Nothing: no file of that name may be executed.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::vector<std::filesystem::path>& folders,
                                                  const std::string& path);

}  // namespace corral::backends
