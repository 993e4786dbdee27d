// NVIDIA GPUs through the driver's own library, which is loaded at first use: corral runs without it.
//
// A GPU without memory of its own (NVML reports "not supported") has no pool: its memory is "ram". A divided GPU (MIG)
// appears as its parts.
#pragma once

#include <memory>
#include <string>

#include "device/pool_source.h"

namespace corral::device {

struct NvmlOptions {
  std::string library = "libnvidia-ml.so.1";  // as dlopen takes it
};

class NvmlProbe final : public DriverProbe {
 public:
  explicit NvmlProbe(NvmlOptions options);
  ~NvmlProbe() override;
  NvmlProbe(const NvmlProbe&) = delete;
  NvmlProbe& operator=(const NvmlProbe&) = delete;

  // After a failure the library is unloaded; the next call loads it again. Errors: absent (library or GPU), failed.
  Result<MemoryPools> read() override;

 private:
  struct Library;

  Result<> open();

  const NvmlOptions options_;
  std::unique_ptr<Library> library_;  // loaded from the first success to the next failure
};

}  // namespace corral::device
