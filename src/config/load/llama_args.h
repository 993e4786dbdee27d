// Flags of llama.cpp's server (release 0.5.0) with an equivalent here, for clients that send `llamacpp_args`. One
// table; flags without an equivalent are errors, so that every accepted flag takes effect.
#pragma once

#include <string_view>

#include "base/error.h"
#include "config/load/load_options.h"

namespace corral::config {

// "-c 4096 --lora 'my adapter.gguf' --parallel=2" as options. Words are separated by spaces; single or double quotation
// marks keep a word together. Errors: invalid_value, with Error::param "llamacpp_args".
Result<LoadOptions> parse_llama_args(std::string_view text);

// `options`, with unset ones from their llamacpp_args. Invalid flags are ignored here: check() rejects them.
LoadOptions with_args(const LoadOptions& options);

}  // namespace corral::config
