// The memory for this program: the machine's, or the rest of a control group's limit (a container, a service). Reads
// files of /proc and /sys in microseconds; safe on every thread. Swap isn't counted: a model that swaps is useless.
#pragma once

#include <cstdint>
#include <filesystem>

namespace corral {

struct HostMemory {
  std::uint64_t total = 0;      // bytes; 0: unknown
  std::uint64_t available = 0;  // without swapping; includes file pages that can be dropped
};

// `root` contains proc/ and sys/; tests pass another one.
HostMemory read_host_memory(const std::filesystem::path& root = "/");

}  // namespace corral
