// What context a model gets, before it is loaded: by the rule of the engine (base/context_size.h), with what is known
// of its memory here. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/load_options.h"
#include "base/memory_estimate.h"
#include "models/model_info.h"

namespace corral::backends {

// KV cells that a load with these resolved options makes: ctx_size, or those that an automatic context begins with.
std::uint64_t first_cells(const models::ModelInfo& model, const LoadOptions& options);

// Tokens that one conversation may have then. `estimate`: of the memory of this load, if it is known; else the file's
// own numbers must do. `free`: bytes where it computes, before the load; 0: not known.
std::uint64_t predicted_context(const models::ModelInfo& model, const LoadOptions& options,
                                const std::optional<MemoryEstimate>& estimate, std::uint64_t free);

// Bytes that a load with these resolved options takes in all, while nothing better is known: the files and the context
// that it begins with.
std::uint64_t guessed_memory(const models::ModelInfo& model, const LoadOptions& options);
// Of them, what the KV cells take, and buffers.
std::uint64_t guessed_cache(const models::ModelInfo& model, const LoadOptions& options);
std::uint64_t guessed_buffers(const models::ModelInfo& model, const LoadOptions& options);

}  // namespace corral::backends
