#include "device/ram.h"

#include <algorithm>

#include <unistd.h>

#include "base/host_memory.h"
#include "device/process_memory.h"

namespace corral::device {

MemoryPool read_ram(const RamOptions& options) {
  const HostMemory host = read_host_memory(options.root);
  MemoryPool pool{"ram", "RAM", PoolKind::ram, host.total, host.available};
  if (options.limit > 0 && (host.total == 0 || options.limit < host.total)) {
    const std::uint64_t used = tree_memory(::getpid(), options.root).own;
    const std::uint64_t left = options.limit - std::min(used, options.limit);
    pool.available = host.total == 0 ? left : std::min(host.available, left);
    pool.total = options.limit;
  }
  return pool;
}

}  // namespace corral::device
