// Measures the memory of this machine for the residency core. On the home loop.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "async/task.h"
#include "backends/wrapped_server.h"
#include "base/memory_estimate.h"
#include "device/memory_monitor.h"
#include "device/pool_match.h"
#include "residency/event.h"
#include "router/instances/memory_parts.h"

namespace corral::router {

// The host memory, which every model uses. Other pools are of GPUs.
inline constexpr std::string_view kHostPool = "ram";

class MemorySampler {
 public:
  using OnSample = std::function<void(residency::MemorySampled)>;
  virtual ~MemorySampler() = default;

  // Every pool that can be measured, within milliseconds.
  virtual async::Task<residency::MemorySampled> sample() = 0;
  // Devices of this machine, by its memory pools: cpu, and gpu if samples have one. Takes as long as a sample; the
  // first call waits for drivers that wake up.
  virtual async::Task<Device> devices() = 0;
  // Samples every two seconds, until unwatch().
  virtual void watch(OnSample on_sample) = 0;
  virtual void unwatch() = 0;
  // Need of a load in each pool, by the names of samples. Takes a sample if there was none and the load uses a GPU.
  virtual async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) = 0;
  // For reports: all pools with their names, by a new sample; and the parts of a prediction in them.
  virtual async::Task<device::MemoryPools> pools() { co_return device::MemoryPools{}; }
  virtual std::vector<MemoryParts> parts_of(const MemoryEstimate& estimate, bool downsized) const {
    return memory_parts(estimate, {}, {}, downsized);
  }
};

// The real one. `monitor` must outlive it.
class DeviceMemorySampler final : public MemorySampler {
 public:
  explicit DeviceMemorySampler(device::MemoryMonitor& monitor,
                               device::VisibleDevices visible = device::visible_devices())
      : monitor_(monitor), visible_(std::move(visible)) {}
  async::Task<residency::MemorySampled> sample() override;
  async::Task<Device> devices() override;
  void watch(OnSample on_sample) override;
  void unwatch() override { monitor_.unwatch(); }
  async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) override;
  async::Task<device::MemoryPools> pools() override;
  std::vector<MemoryParts> parts_of(const MemoryEstimate& estimate, bool downsized) const override {
    return memory_parts(estimate, seen_, visible_, downsized);
  }

 private:
  async::Task<void> look_for_gpu();

  device::MemoryMonitor& monitor_;
  const device::VisibleDevices visible_;
  device::MemoryPools seen_;  // by the latest sample
  bool has_gpu_ = false;      // one was seen
};

// For a need that is one number: split over the GPUs by their sizes if the load computes there and there are any;
// otherwise host memory. Pure.
residency::MemoryUse given_use(const backends::GivenMemory& given, bool on_gpu, const residency::MemorySampled& seen);

// Need of a load in each of these pools; a device that isn't among them keeps its own name. Pure.
residency::MemoryUse memory_use(const MemoryEstimate& estimate, std::span<const device::MemoryPool> pools,
                                const device::VisibleDevices& visible = {});

}  // namespace corral::router
