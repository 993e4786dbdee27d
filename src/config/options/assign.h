// Stores a text in the member of an option.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "config/options/option.h"
#include "config/paths.h"

namespace corral::config {

// Texts of one source. The origin determines relative paths and messages.
struct Given {
  std::vector<std::string> texts;
  Origin origin;
  std::filesystem::path base;  // relative paths start here; empty: the current folder
};

// Errors: invalid_value, with the origin, the value (unless secret) and the expected form.
Result<> assign(const Option& option, const Given& given, const Paths& paths, ServeSettings& settings);

}  // namespace corral::config
