#include "proc/leftovers.h"

#include <filesystem>
#include <string_view>

namespace corral::proc {

void remove_leftovers(const Leftovers& paths, pid_t pid) {
  constexpr std::string_view kPlace = "{pid}";
  for (auto path : paths) {
    if (const auto at = path.find(kPlace); at != std::string::npos)
      path.replace(at, kPlace.size(), std::to_string(pid));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
}

}  // namespace corral::proc
