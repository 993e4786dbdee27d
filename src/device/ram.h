// The machine's RAM, or what a control group or a given limit leaves of it. Reads a few files of /proc and /sys on the
// calling thread; safe on every thread.
#pragma once

#include <filesystem>

#include "device/memory_pool.h"

namespace corral::device {

struct RamOptions {
  std::filesystem::path root = "/";  // holds proc/ and sys/; another one for tests
  // Bytes that this process and its descendants may use together, as if a control group said so. 0: no limit but the
  // system's.
  std::uint64_t limit = 0;
};

MemoryPool read_ram(const RamOptions& options);

}  // namespace corral::device
