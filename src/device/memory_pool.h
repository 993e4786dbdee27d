// One memory that models can fill: the machine's RAM, or that of one GPU. Plain values, bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::device {

enum class PoolKind {
  ram,     // what the machine, or a limit on us, has left
  gpu,     // a GPU's own memory
  shared,  // RAM that a GPU may use (AMD's GTT): counted in "ram" as well
};

struct MemoryPool {
  std::string id;    // stays the same while the hardware does: "ram", "gpu0", "amdgpu0", "amdgpu0-gtt"
  std::string name;  // for people: "NVIDIA H100 80GB HBM3"
  PoolKind kind = PoolKind::ram;
  std::uint64_t total = 0;      // 0: not known
  std::uint64_t available = 0;  // without pushing anybody out
  // What it is, whatever it is called by whom; empty where that isn't known.
  std::string pci = {};   // of its GPU: "0000:c1:00.0"
  std::string uuid = {};  // as the driver says it: "GPU-...", "MIG-..."

  friend bool operator==(const MemoryPool&, const MemoryPool&) = default;
};

using MemoryPools = std::vector<MemoryPool>;

}  // namespace corral::device
