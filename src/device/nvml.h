// NVIDIA GPUs through the driver's own library, which is loaded when it is first asked for: corral runs without it.
//
// A GPU that has no memory of its own (one that shares the machine's: NVML says "not supported") has no pool, its
// memory is "ram". A GPU that is divided (MIG) is seen as its parts.
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

  // After a failure the library is let go of; the next call begins anew. Errors: absent (library or GPU), failed.
  Result<MemoryPools> read() override;

 private:
  struct Library;

  Result<> open();

  const NvmlOptions options_;
  std::unique_ptr<Library> library_;  // between a reading that worked and one that didn't
};

}  // namespace corral::device
