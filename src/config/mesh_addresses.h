// The texts of settings that say where nodes of a mesh are. Checked here, so that a wrong one is told before anything
// starts; read by whoever uses them. Pure functions; safe on every thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// "HOST:PORT", "[v6]:PORT". Errors: invalid_value.
Result<> check_endpoint(std::string_view text);
// None, or up to eight with spaces between.
Result<> check_endpoints(std::string_view text);
// None, or some of "ID@HOST:PORT" with spaces between; ID has 64 hexadecimal digits. 32 at most.
Result<> check_mesh_peers(std::string_view text);
// None, or up to 64 names of models with spaces between.
Result<> check_mesh_models(std::string_view text);
// None, or 63 letters, digits, '.', '-' and '_' at most.
Result<> check_mesh_name(const std::string& text);

// What stands between spaces.
std::vector<std::string> words_of(std::string_view text);

}  // namespace corral::config
