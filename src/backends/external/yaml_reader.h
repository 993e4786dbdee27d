// Reads a YAML text as JSON. Its size, depth and number of values are limited, values of aliases included. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "json/value.h"

namespace corral::backends {

// The first document; empty: null. Plain words are null, booleans and numbers as in YAML 1.2; keys are texts, and `<<`
// merges maps. Objects keep the order of the text. `name`: for messages. Errors: bad_descriptor, with line and column.
Result<json::Value> read_yaml(std::string_view text, const std::string& name);

}  // namespace corral::backends
