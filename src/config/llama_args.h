// The flags of llama.cpp's own server (release 0.5.0) that have an equal here, for clients that send `llamacpp_args`.
// One table; a flag without an equal is refused by name, so that none is silently without effect.
#pragma once

#include <string_view>

#include "base/error.h"
#include "config/load_options.h"

namespace corral::config {

// "-c 4096 --lora 'my adapter.gguf' --parallel=2" as options. Words are parted by spaces; quotation marks of either
// kind keep a word together. Errors: invalid_value, with Error::param "llamacpp_args".
Result<LoadOptions> parse_llama_args(std::string_view text);

// `options`, and where they leave something open what their llamacpp_args say. Flags that can't be read say nothing:
// check() refuses them.
LoadOptions with_args(const LoadOptions& options);

}  // namespace corral::config
