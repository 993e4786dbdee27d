// The memories that a load takes bytes of, each with what is free in it: the host's, and each GPU's own. What doesn't
// fit into one of them isn't helped by room in another.
//
// A GPU that computes in the machine's memory has none of its own: what it takes is the host's. Parts of one GPU (MIG)
// are devices like any other, each with its own memory. Where it isn't known what is free, nothing is refused. Pure,
// but for pools_of().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ggml-backend.h>

#include "base/context_size.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/memory_estimate.h"

namespace corral::engine {

inline constexpr std::string_view kHostDevice = "cpu";

struct DeviceBudget {
  std::string device;                      // kHostDevice or a GPU, as in DeviceMemory
  std::optional<std::uint64_t> free = {};  // bytes; none: not known
};

// As DeviceMemory calls it: ggml's name in small letters.
std::string device_name(ggml_backend_dev_t device);
// The host's, and those of these GPUs that have memory of their own. Asking a GPU opens it, which takes some of its
// memory: only those that are used anyway. `have`: what is free now, or what there is altogether.
std::vector<DeviceBudget> pools_of(const HostMemory& host, std::span<const ggml_backend_dev_t> gpus, MemoryScope have);

// Where `needed` is more than there is, with MemoryNeed::have from the pool. Empty: it fits, as far as is known.
std::vector<MemoryNeed> too_small(const MemoryEstimate& needed, std::span<const DeviceBudget> pools);

// What one context takes of a device.
struct ContextShare {
  std::string device;
  std::uint64_t bytes = 0;
  bool integrated = false;  // as in DeviceMemory
};
// What a token more takes of each pool in `contexts` contexts like one of `cells` cells, and what they could have in
// it, for automatic_context(). Empty: of a pool that a context has a part in nobody knows what is free.
std::vector<ContextMemory> context_room(std::span<const ContextShare> shares, std::uint64_t cells,
                                        std::uint64_t contexts, std::span<const DeviceBudget> pools);

// A GPU's driver and its kernels take memory of their own while a model computes: so much stays free.
inline constexpr std::uint64_t kGpuMargin = 1ull << 30;

// What a load takes with so many layers on the GPUs; -1: all.
using EstimateLayers = std::function<Result<MemoryEstimate>(std::int32_t gpu_layers)>;

struct LayerFit {
  std::int32_t gpu_layers = -1;  // -1: all
  MemoryEstimate estimate = {};  // of them
};
// The GPUs have room for that beside the margin, as far as is known; the host's memory is no limit here.
bool gpus_have_room(const MemoryEstimate& needed, std::span<const DeviceBudget> pools);
// Where they haven't for all of a model of `layers` (and its output, which counts as one more): as many as they have
// room for. Some seven estimates. Errors: those of `estimate`.
Result<LayerFit> fit_layers(std::uint32_t layers, const EstimateLayers& estimate, std::span<const DeviceBudget> pools);

}  // namespace corral::engine
