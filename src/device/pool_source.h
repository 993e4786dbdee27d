// Sources of memory pools: one class per interface.
#pragma once

#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "device/errors.h"
#include "device/memory_pool.h"

namespace corral::device {

// Lives on one loop and never blocks it.
class PoolSource {
 public:
  virtual ~PoolSource() = default;
  virtual std::string_view name() const = 0;  // for logs
  // Reads the current pools. Ends within the source's own deadline. Errors: those of device/errors.h; `absent` if there
  // is no such device.
  virtual async::Task<Result<MemoryPools>> sample() = 0;
};

// Reads a driver, which may block or hang: called on a thread of its own (driver_source.h), never concurrently.
class DriverProbe {
 public:
  virtual ~DriverProbe() = default;
  virtual Result<MemoryPools> read() = 0;
};

}  // namespace corral::device
