// The composition root of `corral serve`: creates and connects all objects, runs until a signal, stops them in reverse
// order.
#pragma once

#include "config/live_settings.h"

namespace corral::app {

// Returns the exit code of the process. Changes of `settings` are applied while it runs.
int serve(config::LiveSettings& settings);

}  // namespace corral::app
