#include "engine_server/templates/nesting.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/large_stack.h"

namespace corral::engine_server {

std::size_t open_brackets(std::string_view text) {
  std::size_t open = 0, max = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') {
      max = std::max(max, ++open);
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
  }
  return max;
}

void with_stack_for(std::size_t levels, std::size_t bytes_per_level, const std::function<void()>& work) {
  if (levels > kMaxLevels)
    throw std::runtime_error(fmt::format("brackets are open {} deep, at most {} are read", levels, kMaxLevels));
  const auto bytes = levels * bytes_per_level;
  if (bytes <= kOrdinaryStack) return work();
  if (run_with_stack(bytes, work)) return;
  throw std::runtime_error(
      fmt::format("brackets are open {} deep, and no address space is left for {} MiB of stack", levels, bytes >> 20));
}

}  // namespace corral::engine_server
