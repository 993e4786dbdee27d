// Arrays as grammar rules.
#pragma once

#include <string>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

SchemaRules::Rule array_rule(SchemaRules& rules, const json::Object& schema, const std::string& at);

}  // namespace corral::json_schema
