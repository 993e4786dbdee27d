// Objects as grammar rules: the required properties in their order, then optional ones, then others.
#pragma once

#include <string>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

SchemaRules::Rule object_rule(SchemaRules& rules, const json::Object& schema, const std::string& at);

}  // namespace corral::json_schema
