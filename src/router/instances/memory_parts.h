// What the memory of a model consists of, in each memory pool. For display; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory_estimate.h"
#include "device/memory_pool.h"
#include "device/pool_match.h"
#include "residency/types.h"

namespace corral::router {

struct MemoryParts {
  std::string pool;
  std::uint64_t weights = 0;
  std::uint64_t kv = 0;
  std::uint64_t compute = 0;
  std::uint64_t process = 0;      // the program, its libraries, the vocabulary
  std::uint64_t reclaimable = 0;  // of the weights: mapped pages of the file, which the system counts as available

  std::uint64_t total() const { return weights + kv + compute + process; }
  friend bool operator==(const MemoryParts&, const MemoryParts&) = default;
};

// Of a prediction; a device that isn't among the pools keeps its own name. `downsized`: without KV and compute buffers.
std::vector<MemoryParts> memory_parts(const MemoryEstimate& estimate, std::span<const device::MemoryPool> pools,
                                      const device::VisibleDevices& visible, bool downsized);
// Of a need that is one number for each pool.
std::vector<MemoryParts> memory_parts(const residency::MemoryUse& use, bool downsized);

// A memory pool with all that uses it.
struct PoolReport {
  device::MemoryPool pool;
  std::uint64_t other = 0;  // used by other programs, the server itself included
  std::uint64_t free = 0;   // neither by models nor by other programs
};
// `used`: of all models. Predictions may be higher than what is measured: then `other` is 0.
PoolReport pool_report(const device::MemoryPool& pool, std::span<const MemoryParts> used);

}  // namespace corral::router
