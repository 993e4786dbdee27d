// Parses the server's memory into structs. Pure; errors of the parser: bad_answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

struct MemoryPool {
  std::string name;  // "RAM"
  std::uint64_t total = 0;
  std::uint64_t free = 0;  // available to programs, now
};
using MemoryPools = std::vector<MemoryPool>;
Result<MemoryPools> parse_memory(std::string_view text);

}  // namespace corral::cli
