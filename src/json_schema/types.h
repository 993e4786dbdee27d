// The types that a schema is about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace corral::json_schema {

// The types that the assertions of a schema in plain_form() apply to; empty: all, if it has no `type`. Throws
// SchemaFault.
std::vector<std::string> types_of(const json::Object& schema, const std::string& at);

// The value of a count keyword, at most Languages::kUnbounded; `otherwise` if it is missing.
std::size_t count_of(const json::Object& schema, std::string_view name, std::size_t otherwise);

}  // namespace corral::json_schema
