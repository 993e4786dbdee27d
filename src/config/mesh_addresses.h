// Checks settings with addresses of nodes, so that errors are reported before the start; the users of these settings
// parse them. Pure functions; safe on every thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// "HOST:PORT", "[v6]:PORT". Errors: invalid_value.
Result<> check_endpoint(std::string_view text);
// None, or up to eight separated by spaces.
Result<> check_endpoints(std::string_view text);
// None, or up to 32 of "ID@HOST:PORT" separated by spaces; ID has 64 hexadecimal digits.
Result<> check_mesh_peers(std::string_view text);
// None, or up to 64 names of models separated by spaces.
Result<> check_mesh_models(std::string_view text);
// None, or up to 63 letters, digits, '.', '-' and '_'.
Result<> check_mesh_name(const std::string& text);

// The words between spaces.
std::vector<std::string> words_of(std::string_view text);

}  // namespace corral::config
