#include "router/memory_gauge.h"

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

// Engines number GPUs as the driver does, behind the name of their interface to it.
residency::PoolId pool_of(const std::string& device) {
  const auto digits = device.find_first_of("0123456789");
  if (digits == std::string::npos) return residency::PoolId(device == "cpu" ? std::string(kHostPool) : device);
  return residency::PoolId("gpu" + device.substr(digits));
}

}  // namespace

async::Task<residency::MemorySampled> MonitorGauge::sample() {
  const auto pools = co_await monitor_.sample();
  has_gpu_ =
      has_gpu_ || !std::ranges::all_of(pools, [](const auto& pool) { return pool.kind == device::PoolKind::ram; });
  co_return sampled(pools);
}

// A GPU that wakes up slowly is late for the first sample, so where none was seen the next question looks again.
async::Task<Device> MonitorGauge::devices() {
  if (!has_gpu_) co_await sample();
  co_return has_gpu_ ? Device::cpu | Device::gpu : Device::cpu;
}

void MonitorGauge::watch(OnSample on_sample) {
  monitor_.watch(kInterval, [tell = std::move(on_sample)](const device::MemoryPools& pools) { tell(sampled(pools)); });
}

residency::MemoryUse memory_use(const MemoryEstimate& estimate) {
  residency::MemoryUse use;
  for (std::size_t i = 0; i < estimate.devices.size(); ++i) {
    const DeviceMemory& device = estimate.devices[i];
    // The host also holds the process and the pages of the file that are in use; those count as available again as soon
    // as it has gone.
    const std::uint64_t total = i == 0 ? estimate.resident() : device.total();
    use.push_back({pool_of(device.device), total, std::min(total, device.kv + device.compute)});
  }
  return use;
}

}  // namespace corral::router
