// docs/configuration.md, generated from the table.
#pragma once

#include <string>

namespace corral::config {

std::string configuration_page();

}  // namespace corral::config
