// The composition root of `corral serve`: makes every object, wires them, runs until a signal, takes them down in
// reverse.
#pragma once

#include "config/live_settings.h"

namespace corral::app {

// Returns the exit code of the process. Values of `settings` that change meanwhile are applied as they change.
int serve(config::LiveSettings& settings);

}  // namespace corral::app
