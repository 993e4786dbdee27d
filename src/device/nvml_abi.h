// The part of libnvidia-ml's interface that is used, which NVIDIA keeps stable.
#pragma once

namespace corral::device {

using NvmlDevice = void*;

struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};

struct NvmlPci {
  char old_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];  // "00000000:C1:00.0"
};

enum NvmlStatus : int {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
};

}  // namespace corral::device
