// AMD GPUs through what their kernel driver says in /sys/class/drm. A GPU that is being reset may keep a reader
// waiting.
#pragma once

#include <filesystem>

#include "device/pool_source.h"

namespace corral::device {

struct AmdOptions {
  std::filesystem::path root = "/";  // holds sys/; another one for tests
};

class AmdProbe final : public DriverProbe {
 public:
  explicit AmdProbe(AmdOptions options) : options_(std::move(options)) {}

  // Errors: absent without a GPU whose driver tells its memory, malformed when that of none can be read.
  Result<MemoryPools> read() override;

 private:
  const AmdOptions options_;
};

}  // namespace corral::device
