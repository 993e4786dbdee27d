// The value of "keep_alive". Pure.
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "json/peek.h"

namespace corral::dialects::ollama {

// Seconds as a number, or a text like "5m", "1h30m", "300ms", "300" (seconds). Below 0: no limit, as -1 ms. At most ten
// years. Errors: protocol::errc::bad_value of "keep_alive".
Result<Millis> parse_keep_alive(json::View value);

}  // namespace corral::dialects::ollama
