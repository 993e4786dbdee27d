#include "router/instances/memory_parts.h"

#include <algorithm>
#include <utility>

namespace corral::router {
namespace {

std::uint64_t less(std::uint64_t from, std::uint64_t amount) { return from - std::min(from, amount); }

}  // namespace

std::vector<MemoryParts> memory_parts(const MemoryEstimate& estimate, std::span<const device::MemoryPool> pools,
                                      const device::VisibleDevices& visible, bool downsized) {
  std::vector<MemoryParts> all;
  for (std::size_t i = 0; i < estimate.devices.size(); ++i) {
    const DeviceMemory& device = estimate.devices[i];
    std::string id = device::pool_of(device, pools, visible);
    if (id.empty()) id = device.device;
    // Several devices may use one memory pool.
    auto known = std::ranges::find(all, id, &MemoryParts::pool);
    if (known == all.end()) known = all.insert(all.end(), MemoryParts{.pool = std::move(id)});
    known->weights += i == 0 ? less(device.weights, estimate.in_place) + estimate.mapped : device.weights;
    if (!downsized) known->kv += device.kv;
    if (!downsized) known->compute += device.compute;
    if (i == 0) known->process += estimate.process;
    if (i == 0) known->reclaimable += estimate.mapped;
  }
  return all;
}

std::vector<MemoryParts> memory_parts(const residency::MemoryUse& use, bool downsized) {
  std::vector<MemoryParts> all;
  for (const auto& one : use) {
    const auto dynamic = std::min(one.dynamic, one.total);
    all.push_back({.pool = one.pool.value(), .weights = one.total - dynamic, .kv = downsized ? 0 : dynamic});
  }
  return all;
}

PoolReport pool_report(const device::MemoryPool& pool, std::span<const MemoryParts> used) {
  std::uint64_t ours = 0, reclaimable = 0;
  for (const auto& parts : used) {
    if (parts.pool != pool.id) continue;
    ours += parts.total();
    reclaimable += parts.reclaimable;
  }
  const auto other = less(less(pool.total, pool.available), ours - reclaimable);
  return {.pool = pool, .other = other, .free = less(pool.total, other + ours)};
}

}  // namespace corral::router
