// From load options to libllama's parameters: one place, so that what is predicted is what is allocated.
#pragma once

#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/kv_memory.h"
#include "engine/model.h"
#include "engine/options.h"

namespace corral::engine {

// LoadOptions::workers, or what there are by default. Needs load_backends().
std::uint32_t worker_count(const LoadOptions& options);

// Compute threads of one worker, for generating.
std::int32_t compute_threads(const Model& model, const LoadOptions& options);

// Rows of logits one pass may ask for.
std::uint32_t output_rows(const Model& model, const LoadOptions& options);

// Without a progress callback, and without what depends on the file (weight_layout.h). `devices` is storage for what
// the parameters point to. Needs load_backends().
llama_model_params model_params(const LoadOptions& options, std::vector<ggml_backend_dev_t>& devices);
// Without an abort callback. Errors: invalid_argument with the option's name.
Result<llama_context_params> context_params(const Model& model, const LoadOptions& options, KvShape shape);

}  // namespace corral::engine
