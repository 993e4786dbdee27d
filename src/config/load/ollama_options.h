// Parameters of a model of Ollama's registry ("num_ctx") as load options. Pure.
#pragma once

#include <string_view>

#include "config/load/load_options.h"

namespace corral::config {

// `params`: a JSON object of the registry. Takes valid parameters with an equivalent load option (num_ctx, num_gpu,
// num_thread, main_gpu, use_mmap, use_mlock); omits all others.
LoadOptions options_of_ollama(std::string_view params);

}  // namespace corral::config
