// What a loaded model takes in memory, as predicted before the load or as asked for by a decision. Plain values, bytes
// everywhere; safe on every thread.
//
// Host memory has three sorts of it. Buffers are ours alone and must fit. Pages of the model's file that are mapped
// (mmap) count as resident too, but the system may drop and read them again: they never make a load impossible. The
// process is everything else: the program, its libraries, the vocabulary, the computation graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace corral {

struct DeviceMemory {
  std::string device;         // "cpu", "cuda0", ...: as in MemoryNeed
  std::uint64_t weights = 0;  // that this device computes with
  std::uint64_t kv = 0;       // the context: KV cells, recurrent states
  std::uint64_t compute = 0;  // intermediate results and outputs of a full pass
  std::uint64_t have = 0;     // all memory of the device; 0: not known
  std::string pci = {};       // its PCI address, "0000:c1:00.0"; empty: not known, or none
  bool integrated = false;    // a GPU that computes in the machine's memory

  std::uint64_t total() const { return weights + kv + compute; }
  friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

struct MemoryEstimate {
  std::vector<DeviceMemory> devices;  // the first is the host
  // Of the host's weights, those that are used where the file is mapped.
  std::uint64_t in_place = 0;
  // Pages of the file that stay mapped: in_place and what lies between, as the originals of weights that were copied
  // into a faster layout. 0 without mmap.
  std::uint64_t mapped = 0;
  std::uint64_t process = 0;

  // Everything on all devices, the process included; file pages only as far as they are weights in use.
  std::uint64_t total() const;
  // What the process occupies in host memory when everything has been touched: its RSS.
  std::uint64_t resident() const;
  // What must fit into host memory: resident() without file pages.
  std::uint64_t unreclaimable() const;

  friend bool operator==(const MemoryEstimate&, const MemoryEstimate&) = default;
};

// What `estimate` needs on each device of which it is known what it has: the host `host_have`, others their
// DeviceMemory::have.
std::vector<MemoryNeed> needs_of(const MemoryEstimate& estimate, std::optional<std::uint64_t> host_have);
// The devices on which `estimate` needs more than the device has altogether: it never fits. `host_total` is the memory
// of this machine, or what a limit leaves of it; 0: not known. Empty: it fits into the empty machine.
std::vector<MemoryNeed> never_fits(const MemoryEstimate& estimate, std::uint64_t host_total);

// What MemoryNeed::have tells of a device.
enum class MemoryScope { altogether, free };
// "needs 12.5 GiB on cpu, which has 8.0 GiB", or "... 8.0 GiB free"; for error messages.
std::string in_words(const std::vector<MemoryNeed>& needs, MemoryScope have = MemoryScope::altogether);

}  // namespace corral
