// The part of libnvidia-ml's interface that is used, which NVIDIA keeps stable.
#pragma once

namespace corral::device {

using NvmlDevice = void*;

struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};

enum NvmlStatus : int {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
};

}  // namespace corral::device
