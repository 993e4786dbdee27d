// A text into the member that an option fills.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "config/option.h"
#include "config/paths.h"

namespace corral::config {

// Where a text came from decides how relative paths and messages read.
struct Given {
  std::vector<std::string> texts;
  Origin origin;
  std::filesystem::path base;  // relative paths start here; empty: the current folder
};

// Errors: invalid_value, with the origin, the value (unless secret) and what is right.
Result<> assign(const Option& option, const Given& given, const Paths& paths, ServeSettings& settings);

}  // namespace corral::config
