// Hints in the log of a server without models. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/files/known_models.h"

namespace corral::app {

// Log lines: the known models that fit a machine with this much memory for one model, and the commands to get them.
std::vector<std::string> first_steps(const config::KnownModels& known, std::uint64_t room);

}  // namespace corral::app
