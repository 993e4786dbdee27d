#include "engine/fit/memory_pools.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace corral::engine {
namespace {

std::optional<std::uint64_t> free_of(std::span<const DeviceBudget> pools, std::string_view device) {
  const auto pool = std::ranges::find(pools, device, &DeviceBudget::device);
  return pool == pools.end() ? std::nullopt : pool->free;
}

}  // namespace

std::string device_name(ggml_backend_dev_t device) { return to_lower(ggml_backend_dev_name(device)); }

std::vector<DeviceBudget> pools_of(const HostMemory& host, std::span<const ggml_backend_dev_t> gpus, MemoryScope have) {
  std::vector<DeviceBudget> pools;
  pools.push_back({.device = std::string(kHostDevice)});
  if (host.total != 0) pools.back().free = have == MemoryScope::free ? host.available : host.total;
  for (const ggml_backend_dev_t gpu : gpus) {
    if (ggml_backend_dev_type(gpu) != GGML_BACKEND_DEVICE_TYPE_GPU) continue;
    std::size_t free = 0, total = 0;
    ggml_backend_dev_memory(gpu, &free, &total);
    pools.push_back({.device = device_name(gpu)});
    if (total != 0) pools.back().free = have == MemoryScope::free ? free : total;
  }
  return pools;
}

std::vector<MemoryNeed> too_small(const MemoryEstimate& needed, std::span<const DeviceBudget> pools) {
  std::vector<MemoryNeed> missing;
  const auto compare = [&](std::string_view device, std::uint64_t need) {
    if (const auto free = free_of(pools, device); free && need > *free)
      missing.push_back({std::string(device), need, *free});
  };
  std::uint64_t on_host = needed.unreclaimable();
  for (const DeviceMemory& device : needed.devices) on_host += device.integrated ? device.total() : 0;
  compare(kHostDevice, on_host);
  for (const DeviceMemory& device : needed.devices) {
    if (!device.integrated && device.device != kHostDevice) compare(device.device, device.total());
  }
  return missing;
}

std::vector<ContextMemory> context_room(std::span<const ContextShare> shares, std::uint64_t cells,
                                        std::uint64_t contexts, std::span<const DeviceBudget> pools) {
  std::vector<ContextMemory> room;
  const auto add = [&](std::string_view device, std::uint64_t bytes) {
    if (bytes == 0) return true;
    const auto free = free_of(pools, device);
    // All parts of a context are proportional to its cells, or constant.
    if (free) room.push_back({.per_token = (bytes + cells - 1) / cells * contexts, .free = *free + bytes});
    return free.has_value();
  };
  std::uint64_t on_host = 0;
  for (const ContextShare& share : shares) {
    const bool of_host = share.integrated || share.device == kHostDevice;
    on_host += of_host ? share.bytes : 0;
    if (!of_host && !add(share.device, share.bytes)) return {};
  }
  if (!add(kHostDevice, on_host)) return {};
  return room;
}

bool gpus_have_room(const MemoryEstimate& needed, std::span<const DeviceBudget> pools) {
  return std::ranges::all_of(needed.devices, [&](const DeviceMemory& device) {
    if (device.integrated || device.device == kHostDevice || device.total() == 0) return true;
    const auto free = free_of(pools, device.device);
    return !free || (*free >= kGpuMargin && device.total() <= *free - kGpuMargin);
  });
}

Result<LayerFit> fit_layers(std::uint32_t layers, const EstimateLayers& estimate, std::span<const DeviceBudget> pools) {
  // The more layers, the more each GPU has of them.
  std::uint32_t fits = 0, too_many = layers + 1;
  std::optional<MemoryEstimate> best;
  while (too_many - fits > 1) {
    const std::uint32_t middle = fits + (too_many - fits) / 2;
    auto some = estimate(static_cast<std::int32_t>(middle));
    if (!some) return std::unexpected(std::move(some.error()));
    if (!gpus_have_room(*some, pools)) {
      too_many = middle;
      continue;
    }
    fits = middle;
    best = std::move(*some);
  }
  if (best) return LayerFit{.gpu_layers = static_cast<std::int32_t>(fits), .estimate = std::move(*best)};
  auto none = estimate(0);
  if (!none) return std::unexpected(std::move(none.error()));
  return LayerFit{.gpu_layers = 0, .estimate = std::move(*none)};
}

}  // namespace corral::engine
