// known_models.toml, as a text in the program.
#pragma once

#include <string_view>

namespace corral::config {

extern const std::string_view kKnownModelsText;

}  // namespace corral::config
