#include "backends/external/program_path.h"

#include <algorithm>

#include <unistd.h>

namespace corral::backends {
namespace {

namespace fs = std::filesystem;

bool may_run(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name, const std::vector<fs::path>& folders,
                                     const std::string& path) {
  if (name.empty()) return std::nullopt;
  if (name.contains('/')) return may_run(name) ? std::optional(fs::path(name)) : std::nullopt;
  for (const auto& folder : folders) {
    if (may_run(folder / name)) return folder / name;
  }
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const fs::path folder = path.substr(at, end - at);
    at = end + 1;
    // A relative one would depend on the folder in which the server was started.
    if (folder.is_absolute() && may_run(folder / name)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace corral::backends
