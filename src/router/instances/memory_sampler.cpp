#include "router/instances/memory_sampler.h"

#include <algorithm>
#include <utility>

namespace corral::router {
namespace {

constexpr Millis kInterval{2000};

residency::MemorySampled sampled(const device::MemoryPools& pools) {
  residency::MemorySampled event;
  for (const auto& pool : pools) {
    if (pool.total > 0) event.pools.push_back({residency::PoolId(pool.id), pool.total, pool.available});
  }
  return event;
}

}  // namespace

async::Task<residency::MemorySampled> DeviceMemorySampler::sample() {
  seen_ = co_await monitor_.sample();
  has_gpu_ =
      has_gpu_ || !std::ranges::all_of(seen_, [](const auto& pool) { return pool.kind == device::PoolKind::ram; });
  co_return sampled(seen_);
}

// A model whose load was planned before its GPU has answered would not count there for all its time in memory.
async::Task<void> DeviceMemorySampler::look_for_gpu() {
  if (has_gpu_) co_return;
  co_await monitor_.first_answers();
  co_await sample();
}

async::Task<Device> DeviceMemorySampler::devices() {
  co_await look_for_gpu();
  co_return has_gpu_ ? Device::cpu | Device::gpu : Device::cpu;
}

void DeviceMemorySampler::watch(OnSample on_sample) {
  monitor_.watch(kInterval,
                 [on_pools = std::move(on_sample)](const device::MemoryPools& pools) { on_pools(sampled(pools)); });
}

async::Task<residency::MemoryUse> DeviceMemorySampler::use_of(MemoryEstimate estimate) {
  if (estimate.devices.size() > 1) co_await look_for_gpu();
  co_return memory_use(estimate, seen_, visible_);
}

async::Task<device::MemoryPools> DeviceMemorySampler::pools() {
  co_await sample();
  co_return seen_;
}

residency::MemoryUse given_use(const backends::GivenMemory& given, bool on_gpu, const residency::MemorySampled& seen) {
  double all = 0;
  for (const auto& pool : seen.pools) all += pool.pool.value() == kHostPool ? 0 : static_cast<double>(pool.total);
  const auto dynamic = std::min(given.dynamic, given.total);
  if (!on_gpu || all == 0) return {{residency::PoolId(std::string(kHostPool)), given.total, dynamic}};
  residency::MemoryUse use;
  for (const auto& pool : seen.pools) {
    if (pool.pool.value() == kHostPool) continue;
    const double share = static_cast<double>(pool.total) / all;
    const auto part = [share](std::uint64_t bytes) {
      return static_cast<std::uint64_t>(static_cast<double>(bytes) * share);
    };
    use.push_back({pool.pool, part(given.total), part(dynamic)});
  }
  return use;
}

residency::MemoryUse memory_use(const MemoryEstimate& estimate, std::span<const device::MemoryPool> pools,
                                const device::VisibleDevices& visible) {
  residency::MemoryUse use;
  for (std::size_t i = 0; i < estimate.devices.size(); ++i) {
    const DeviceMemory& device = estimate.devices[i];
    // The host also holds the process and the used pages of the file; those are free as soon as the process has ended.
    const std::uint64_t total = i == 0 ? estimate.resident() : device.total();
    const std::uint64_t dynamic = std::min(total, device.kv + device.compute);
    std::string id = device::pool_of(device, pools, visible);
    if (id.empty()) id = device.device;
    // Several devices may use one memory.
    const auto known = std::ranges::find(use, residency::PoolId(id), [](const auto& one) { return one.pool; });
    if (known == use.end()) {
      use.push_back({residency::PoolId(std::move(id)), total, dynamic});
    } else {
      known->total += total;
      known->dynamic += dynamic;
    }
  }
  return use;
}

}  // namespace corral::router
