// What the router needs to know of the memory of this machine, as the decision core wants it. On the home loop.
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

namespace corral::router {

// The machine's own, that every model takes of. Others are of GPUs.
inline constexpr std::string_view kHostPool = "ram";

class MemorySampler {
 public:
  using OnSample = std::function<void(residency::MemorySampled)>;
  virtual ~MemorySampler() = default;

  // Every memory that can be measured, within milliseconds.
  virtual async::Task<residency::MemorySampled> sample() = 0;
  // What computes here, as far as its memory shows: cpu, and gpu where samples have one. As quick as a sample.
  virtual async::Task<Device> devices() = 0;
  // From now on every other second, until unwatch().
  virtual void watch(OnSample on_sample) = 0;
  virtual void unwatch() = 0;
  // What a load takes of each memory, by the names that samples have. Takes a sample where none was taken and the load
  // isn't the host's alone.
  virtual async::Task<residency::MemoryUse> use_of(MemoryEstimate estimate) = 0;
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

 private:
  device::MemoryMonitor& monitor_;
  const device::VisibleDevices visible_;
  device::MemoryPools seen_;  // by the latest sample
  bool has_gpu_ = false;      // one was seen
};

// Memory that is given in one number: the GPUs' by what each has, where it computes there and they have any, else the
// host's. Pure.
residency::MemoryUse given_use(const backends::GivenMemory& given, bool on_gpu, const residency::MemorySampled& seen);

// What a load takes of each of these memories; a device that none of them is keeps its own name. Pure.
residency::MemoryUse memory_use(const MemoryEstimate& estimate, std::span<const device::MemoryPool> pools,
                                const device::VisibleDevices& visible = {});

}  // namespace corral::router
