// How much memory there is for us: the machine's, or what a control group (a container, a service's limit) leaves of
// it. Reads files of /proc and /sys, microseconds; safe on every thread. Swap counts as nothing: a model that swaps is
// no use.
#pragma once

#include <cstdint>
#include <filesystem>

namespace corral {

struct HostMemory {
  std::uint64_t total = 0;      // bytes; 0: not known
  std::uint64_t available = 0;  // without pushing anybody out; file pages that can be dropped count
};

// `root` holds proc/ and sys/; another one for tests.
HostMemory read_host_memory(const std::filesystem::path& root = "/");

}  // namespace corral
