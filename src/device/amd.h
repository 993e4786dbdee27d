// AMD GPUs, by their kernel driver's files in /sys/class/drm. A read may block while a GPU is reset.
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

  // Errors: absent without a GPU whose driver reports its memory, malformed if no GPU's memory can be read.
  Result<MemoryPools> read() override;

 private:
  const AmdOptions options_;
};

}  // namespace corral::device
