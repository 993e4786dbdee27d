// The answer of `corral doctor --json`.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/checks.h"

namespace corral::cli {

// {"ok", "checks": [{"status", "topic", "text", "todo"}]}; "todo" is null if nothing is to be done. Pure.
std::string checks_object(const std::vector<Check>& checks);

}  // namespace corral::cli
