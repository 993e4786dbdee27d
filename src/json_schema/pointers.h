// JSON pointers to the parts of a schema, such as "#/properties/a".
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace corral::json_schema {

// The target of a "$ref", which is at `at`. Throws SchemaFault.
const json::Value& resolve(const json::Value& root, std::string_view ref, const std::string& at);
// A pointer to a member of the target of `at`.
std::string pointer_to(const std::string& at, std::string_view member);

}  // namespace corral::json_schema
