// Where pools come from: one class for each way to ask.
#pragma once

#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "device/errors.h"
#include "device/memory_pool.h"

namespace corral::device {

// On one loop, which no source ever blocks.
class PoolSource {
 public:
  virtual ~PoolSource() = default;
  virtual std::string_view name() const = 0;  // for logs
  // The pools as they are now. Ends within the source's own deadline. Errors: those of device/errors.h; `absent` when
  // there is nothing of this sort here.
  virtual async::Task<Result<MemoryPools>> sample() = 0;
};

// The way into a driver, which may block and even hang: called on a thread of its own (driver_source.h), never on two
// at once.
class DriverProbe {
 public:
  virtual ~DriverProbe() = default;
  virtual Result<MemoryPools> read() = 0;
};

}  // namespace corral::device
