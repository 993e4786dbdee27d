// Predicts the context of a model before its load: by the rule of the engine (base/context_size.h), with the known
// memory estimates. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/load_options.h"
#include "base/memory_estimate.h"
#include "models/model_info.h"

namespace corral::backends {

// Initial KV cells of a load with these resolved options: ctx_size, or those of an automatic context.
std::uint64_t first_cells(const models::ModelInfo& model, const LoadOptions& options);

// Tokens of one conversation after such a load. `estimate`: of the memory of this load, if known; else the data of the
// file is used. `free`: bytes on its device before the load; 0: unknown.
std::uint64_t predicted_context(const models::ModelInfo& model, const LoadOptions& options,
                                const std::optional<MemoryEstimate>& estimate, std::uint64_t free);

// Rough total of bytes of a load with these resolved options, if there is no estimate: the files and the initial
// context.
std::uint64_t estimated_memory(const models::ModelInfo& model, const LoadOptions& options);
// The parts of it: KV cells, and buffers.
std::uint64_t estimated_cache(const models::ModelInfo& model, const LoadOptions& options);
std::uint64_t estimated_buffers(const models::ModelInfo& model, const LoadOptions& options);

}  // namespace corral::backends
