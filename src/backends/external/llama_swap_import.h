// Converts a configuration of llama-swap (YAML) to a `models.toml`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::backends {

struct ImportedConfiguration {
  std::string toml;
  std::size_t models = 0;             // that corral will serve
  std::vector<std::string> warnings;  // what was left out or has an error, and why
};

// `name` of the file: for messages. Errors: bad_descriptor if the text isn't YAML, or has no models.
Result<ImportedConfiguration> import_llama_swap(std::string_view yaml, const std::string& name);

}  // namespace corral::backends
