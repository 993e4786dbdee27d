#include "engine/fit/gpu_fit.h"

#include <utility>
#include <vector>

#include "engine/fit/memory_estimate.h"
#include "engine/llama/backends.h"
#include "engine/llama/devices.h"
#include "engine/llama/model.h"

namespace corral::engine {
namespace {

Result<std::uint32_t> layers_of(const EngineLoadOptions& options) {
  const auto model = Model::load_empty(options);
  if (!model) return std::unexpected(model.error());
  return (*model)->facts().n_layer;
}

}  // namespace

Result<std::optional<LayerFit>> fit_to_gpus(const EngineLoadOptions& options, MemoryScope have) {
  if (!options.fit || options.n_gpu_layers >= 0 || !options.remotes.empty()) return std::nullopt;
  if (auto loaded = load_backends(); !loaded) return std::unexpected(loaded.error());
  const auto gpus = choose_gpus(found_devices(), options.backend, options.devices);
  if (!gpus) return std::unexpected(gpus.error());
  std::vector<ggml_backend_dev_t> handles;
  for (const FoundDevice& gpu : *gpus) handles.push_back(gpu.handle);
  const auto pools = pools_of(read_host_memory(), handles, have);
  if (pools.size() == 1) return std::nullopt;  // no GPU has memory of its own
  const EstimateLayers estimate = [with = options](std::int32_t gpu_layers) mutable {
    with.n_gpu_layers = gpu_layers;
    return estimate_memory(with);
  };
  auto all = estimate(-1);
  if (!all) return std::unexpected(std::move(all.error()));
  if (gpus_have_room(*all, pools)) return LayerFit{.gpu_layers = -1, .estimate = std::move(*all)};
  const auto layers = layers_of(options);
  if (!layers) return std::unexpected(layers.error());
  auto fitted = fit_layers(*layers, estimate, pools);
  if (!fitted) return std::unexpected(std::move(fitted.error()));
  return std::move(*fitted);
}

Result<MemoryEstimate> estimate_fitted(const EngineLoadOptions& options) {
  auto fitted = fit_to_gpus(options, MemoryScope::altogether);
  if (!fitted) return std::unexpected(std::move(fitted.error()));
  if (*fitted) return std::move((**fitted).estimate);
  return estimate_memory(options);
}

}  // namespace corral::engine
