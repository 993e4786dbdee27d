// The memory of a loaded model, as predicted before the load. Plain values, bytes everywhere; safe on every thread.
//
// Host memory has three kinds. Buffers are private and must fit. Mapped pages of the model's file (mmap) count as
// resident, too, but the system may drop them and read them again: they never make a load impossible. The process is
// everything else: the program, its libraries, the vocabulary, the computation graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace corral {

struct DeviceMemory {
  std::string device;         // "cpu", "cuda0", ...: as in MemoryNeed
  std::uint64_t weights = 0;  // weights on this device
  std::uint64_t kv = 0;       // the context: KV cells, recurrent states
  std::uint64_t compute = 0;  // intermediate results and outputs of a full pass
  std::uint64_t have = 0;     // all memory of the device; 0: unknown
  std::string pci = {};       // its PCI address, "0000:c1:00.0"; empty: unknown or none
  bool integrated = false;    // a GPU that uses the machine's memory

  std::uint64_t total() const { return weights + kv + compute; }
  friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

struct MemoryEstimate {
  std::vector<DeviceMemory> devices;  // the first is the host
  // Host weights that are used directly in the mapped file.
  std::uint64_t in_place = 0;
  // Pages of the file that stay mapped: in_place and pages between, such as the originals of weights that were copied
  // into a faster layout. 0 without mmap.
  std::uint64_t mapped = 0;
  std::uint64_t process = 0;

  // All memory on all devices, including the process; of file pages only weights in use.
  std::uint64_t total() const;
  // Host memory of the process after all pages have been touched: its RSS.
  std::uint64_t resident() const;
  // Memory that must fit into host memory: resident() without file pages.
  std::uint64_t unreclaimable() const;

  friend bool operator==(const MemoryEstimate&, const MemoryEstimate&) = default;
};

// The need of `estimate` on each device with known memory: the host has `host_have`, others their DeviceMemory::have.
std::vector<MemoryNeed> needs_of(const MemoryEstimate& estimate, std::optional<std::uint64_t> host_have);
// The devices on which `estimate` needs more than the total memory, so that it never fits. `host_total`: the memory of
// this machine, or of a limit; 0: unknown. Empty: it fits into the empty machine.
std::vector<MemoryNeed> never_fits(const MemoryEstimate& estimate, std::uint64_t host_total);

// The meaning of MemoryNeed::have.
enum class MemoryScope { altogether, free };
// "needs 12.5 GiB on cpu, which has 8.0 GiB", or "... 8.0 GiB free"; for error messages.
std::string in_words(const std::vector<MemoryNeed>& needs, MemoryScope have = MemoryScope::altogether);

}  // namespace corral
