// The server gives advice to HTTP clients: fields and headers. Here it becomes flags and commands. Pure.
#pragma once

#include <string>

namespace corral::cli {

// `message` of an error, with such advice replaced.
std::string advice_in_commands(std::string message);

}  // namespace corral::cli
