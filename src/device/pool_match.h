// Which memory a device of an engine is. Pure.
//
// Engines number what they find in an order of their own: the fastest first, only what an environment variable lets
// them see, an integrated GPU among the others. So memories are found by what the device is, its PCI address, and of a
// divided GPU by the part that may be used; by a number only where nothing else is known.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/memory_estimate.h"
#include "device/memory_pool.h"

namespace corral::device {

// What the environment lets engines see: lists of numbers, or of UUIDs, which may be cut short. Empty: everything.
struct VisibleDevices {
  std::string cuda = {};  // CUDA_VISIBLE_DEVICES
  std::string hip = {};   // HIP_VISIBLE_DEVICES, else ROCR_VISIBLE_DEVICES
};
VisibleDevices visible_devices();  // of this process

// A PCI address in one spelling: "0000:c1:00.0" of "00000000:C1:00.0" and "c1:00.0". Empty for what is none.
std::string pci_address(std::string_view text);

// The pool's id; empty where none is known to be this device's.
std::string pool_of(const DeviceMemory& device, std::span<const MemoryPool> pools, const VisibleDevices& visible);

}  // namespace corral::device
