// The configuration file as a JSON schema (draft 2020-12), for editors that check TOML against one.
#pragma once

#include <string>

namespace corral::config {

std::string configuration_schema();

}  // namespace corral::config
