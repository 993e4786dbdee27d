// Load options for every model, from the settings of the server. Pure functions.
//
// `llamacpp_args` may contain options with their own setting: a setting with a given value overrides it, a default
// doesn't.
#pragma once

#include <string>

#include "config/load/load_options.h"
#include "config/serve_settings.h"

namespace corral::config {

LoadOptions default_load_options(const ServeSettings& settings);
// The same without llamacpp_args of the settings: for models whose own args replace them.
LoadOptions default_load_options_without_args(const ServeSettings& settings);
// The origin of a value: "default", "/etc/corral.toml:3", "--llamacpp-args", ...
std::string default_origin(const LoadOption& option, const ServeSettings& settings);

}  // namespace corral::config
