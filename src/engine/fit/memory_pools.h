// The memory pools that a load uses, each with its free memory: the host's, and each GPU's own. Free memory in one pool
// does not help another.
//
// A GPU that computes in the machine's memory has no pool of its own: it uses the host's. Parts of one GPU (MIG) are
// devices with pools of their own. If free memory is not known, nothing is refused. Pure, except pools_of().
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
  std::optional<std::uint64_t> free = {};  // bytes; none: unknown
};

// The name in DeviceMemory: ggml's name in lower case.
std::string device_name(ggml_backend_dev_t device);
// Pools of the host and of those GPUs that have memory of their own. A query opens the GPU, which takes some of its
// memory: pass only GPUs that the load uses. `have`: free or total memory.
std::vector<DeviceBudget> pools_of(const HostMemory& host, std::span<const ggml_backend_dev_t> gpus, MemoryScope have);

// Pools that are smaller than `needed`, with MemoryNeed::have of the pool. Empty: it fits, as far as is known.
std::vector<MemoryNeed> too_small(const MemoryEstimate& needed, std::span<const DeviceBudget> pools);

// Memory of one context on a device.
struct ContextShare {
  std::string device;
  std::uint64_t bytes = 0;
  bool integrated = false;  // as in DeviceMemory
};
// Memory per further token in each pool, for `contexts` contexts like one of `cells` cells, and the memory that they
// could use there, for automatic_context(). Empty: the free memory of a pool that a context uses is not known.
std::vector<ContextMemory> context_room(std::span<const ContextShare> shares, std::uint64_t cells,
                                        std::uint64_t contexts, std::span<const DeviceBudget> pools);

// Memory of each GPU that stays free: drivers and kernels allocate more while a model computes.
inline constexpr std::uint64_t kGpuMargin = 1ull << 30;

// Estimate of a load with so many layers on the GPUs; -1: all.
using EstimateLayers = std::function<Result<MemoryEstimate>(std::int32_t gpu_layers)>;

struct LayerFit {
  std::int32_t gpu_layers = -1;  // -1: all
  MemoryEstimate estimate = {};  // of this number of layers
};
// `needed` and the margin fit into the GPUs, as far as is known. Ignores the host's memory.
bool gpus_have_room(const MemoryEstimate& needed, std::span<const DeviceBudget> pools);
// Most layers that fit, for a model of `layers` (the output is one more) that does not fit as a whole. About seven
// estimates. Errors: those of `estimate`.
Result<LayerFit> fit_layers(std::uint32_t layers, const EstimateLayers& estimate, std::span<const DeviceBudget> pools);

}  // namespace corral::engine
