// Objects as grammar rules: listed properties in their order, then others.
#pragma once

#include <string>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

SchemaRules::Rule object_rule(SchemaRules& rules, const json::Object& schema, const std::string& at);

}  // namespace corral::json_schema
