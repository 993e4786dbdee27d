// Number of layers on GPUs if no option sets it: as many as fit, by dry runs (memory_pools.h). llama.cpp's own `--fit`
// is not used: it changes the logger of the process, first reduces the context, and can't estimate for an empty
// machine. The router needs that estimate before it evicts models.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/memory_estimate.h"
#include "engine/fit/memory_pools.h"
#include "engine/values/options.h"

namespace corral::engine {

// For loads that leave the number to the engine (EngineLoadOptions::fit, n_gpu_layers -1) and have GPUs; none: any
// other load. `have`: free memory, for the load itself, or total memory, for an estimate before an eviction. Blocks for
// one or several dry runs. Errors: those of estimate_memory().
Result<std::optional<LayerFit>> fit_to_gpus(const EngineLoadOptions& options, MemoryScope have);

// estimate_memory() of the load on a machine with nothing else in memory.
Result<MemoryEstimate> estimate_fitted(const EngineLoadOptions& options);

}  // namespace corral::engine
