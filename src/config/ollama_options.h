// Parameters of a model of Ollama's registry ("num_ctx"), as options of a load. Pure.
#pragma once

#include <string_view>

#include "config/load_options.h"

namespace corral::config {

// `params`: a JSON object, as the registry has it. Takes the parameters that options of a load have another name for
// (num_ctx, num_gpu, num_thread, main_gpu, use_mmap, use_mlock) and whose values are valid; leaves out all others.
LoadOptions options_of_ollama(std::string_view params);

}  // namespace corral::config
