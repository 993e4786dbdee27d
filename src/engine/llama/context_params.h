// Converts load options to libllama's parameters. The dry run and the load share it, so that a load allocates what was
// predicted.
#pragma once

#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/kv/kv_memory.h"
#include "engine/llama/model.h"
#include "engine/values/options.h"

namespace corral::engine {

// EngineLoadOptions::workers, or one.
std::uint32_t worker_count(const EngineLoadOptions& options);

// Compute threads of one worker, for generating.
std::int32_t compute_threads(const Model& model, const EngineLoadOptions& options);

// Most rows of logits of one pass.
std::uint32_t output_rows(const Model& model, const EngineLoadOptions& options);

// Without a progress callback, and without what depends on the file (weight_layout.h). Needs load_backends(). Errors:
// those of check_backend, choose_gpus and check_sharing.
struct ModelParams {
  llama_model_params params{};
  // What the parameters point to.
  std::vector<ggml_backend_dev_t> devices = {};
  std::vector<float> tensor_split = {};
};
Result<ModelParams> model_params(const EngineLoadOptions& options);
// Without an abort callback. Errors: invalid_argument with the option's name.
Result<llama_context_params> context_params(const Model& model, const EngineLoadOptions& options, KvShape shape);

}  // namespace corral::engine
