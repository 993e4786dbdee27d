// One memory for models: the machine's RAM, or that of one GPU. Plain values, bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace corral::device {

enum class PoolKind {
  ram,     // the machine's RAM, or what a limit of this process allows
  gpu,     // a GPU's own memory
  shared,  // RAM that a GPU may use (AMD's GTT): counted in "ram" as well
};

struct MemoryPool {
  std::string id;    // stable for the same hardware
  std::string name;  // for display: "NVIDIA H100 80GB HBM3"
  PoolKind kind = PoolKind::ram;
  std::uint64_t total = 0;      // 0: not known
  std::uint64_t available = 0;  // without swapping or evicting
  // Identity of the hardware, independent of names; empty if not known.
  std::string pci = {};   // of its GPU: "0000:c1:00.0"
  std::string uuid = {};  // as in the driver

  friend bool operator==(const MemoryPool&, const MemoryPool&) = default;
};

using MemoryPools = std::vector<MemoryPool>;

}  // namespace corral::device
