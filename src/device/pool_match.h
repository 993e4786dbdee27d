// Finds the memory pool of an engine's device. Pure.
//
// Compute backends number devices in their own order: the fastest first, only those that an environment variable
// allows, an integrated GPU among the others. So pools are matched by PCI address, and for a divided GPU by the visible
// part. Numbers are used only if nothing else is known.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/memory_estimate.h"
#include "device/memory_pool.h"

namespace corral::device {

// Devices that the environment allows: lists of numbers, or of UUIDs, possibly shortened. Empty: all.
struct VisibleDevices {
  std::string cuda = {};  // CUDA_VISIBLE_DEVICES
  std::string hip = {};   // HIP_VISIBLE_DEVICES, else ROCR_VISIBLE_DEVICES
};
VisibleDevices visible_devices();  // of this process

// A PCI address in normal form: "0000:c1:00.0" for "00000000:C1:00.0" and "c1:00.0". Empty if it is not an address.
std::string pci_address(std::string_view text);

// The pool's id; empty if none is known for this device.
std::string pool_of(const DeviceMemory& device, std::span<const MemoryPool> pools, const VisibleDevices& visible);

}  // namespace corral::device
