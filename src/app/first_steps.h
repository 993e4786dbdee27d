// What a server that has no models tells whoever started it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/known_models.h"

namespace corral::app {

// Lines for the log: which known models suit a machine with so much memory for one, and the command to have each.
std::vector<std::string> first_steps(const config::KnownModels& known, std::uint64_t room);

}  // namespace corral::app
