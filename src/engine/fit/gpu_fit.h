// How many layers of a model go on GPUs where nobody says: as many as there is room for, by dry runs (memory_pools.h).
// What llama.cpp's programs do by `--fit` it isn't: that one swaps the process's logger, shortens the context first,
// and can't be asked what would fit on the empty machine, which is what the router wants to know before it makes room.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/memory_estimate.h"
#include "engine/fit/memory_pools.h"
#include "engine/values/options.h"

namespace corral::engine {

// Of a load that leaves the number to the engine (EngineLoadOptions::fit, n_gpu_layers -1) and has GPUs; none: another
// one, which loads as it says. `have`: what is free, for the load itself, or what there is altogether, for a machine on
// which others would make room. Blocks for a dry run, or some. Errors: those of estimate_memory().
Result<std::optional<LayerFit>> fit_to_gpus(const EngineLoadOptions& options, MemoryScope have);

// estimate_memory() of the load as it will be where nothing else is in memory.
Result<MemoryEstimate> estimate_fitted(const EngineLoadOptions& options);

}  // namespace corral::engine
