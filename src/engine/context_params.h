// From load options to libllama's parameters: one place, so that what is predicted is what is allocated.
#pragma once

#include <cstdint>

#include <llama.h>

#include "base/error.h"
#include "engine/model.h"
#include "engine/options.h"

namespace corral::engine {

// The layout of a context's KV cells.
struct KvShape {
  std::uint32_t streams = 0;  // 0: one pool for all sequences; else so many equal parts, one sequence each
  bool operator==(const KvShape&) const = default;
};

// Without a progress callback.
llama_model_params model_params(const LoadOptions& options);
// Without an abort callback. Errors: invalid_argument with the option's name.
Result<llama_context_params> context_params(const Model& model, const LoadOptions& options, KvShape shape);

}  // namespace corral::engine
