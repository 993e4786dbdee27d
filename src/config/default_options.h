// What the settings of the server say for every model, as load options. Pure functions.
//
// `llamacpp_args` may name what has a setting of its own: a setting that somebody has given counts more than it, one
// that was left at its default counts less.
#pragma once

#include <string>

#include "config/load_options.h"
#include "config/serve_settings.h"

namespace corral::config {

LoadOptions default_load_options(const ServeSettings& settings);
// The same, as if the settings had no llamacpp_args: for models whose own stand instead of them.
LoadOptions default_load_options_without_args(const ServeSettings& settings);
// Where the value of one of them comes from: "default", "/etc/corral.toml:3", "--llamacpp-args", ...
std::string default_origin(const LoadOption& option, const ServeSettings& settings);

}  // namespace corral::config
