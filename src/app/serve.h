// The composition root of `corral serve`: makes every object, wires them, runs until a signal, takes them down in
// reverse.
#pragma once

#include "config/serve_settings.h"

namespace corral::app {

// Returns the exit code of the process.
int serve(const config::ServeSettings& settings);

}  // namespace corral::app
