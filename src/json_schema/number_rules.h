// Numbers as grammar rules.
#pragma once

#include <string>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

SchemaRules::Rule number_rule(SchemaRules& rules, const json::Object& schema, const std::string& at, bool integer);

}  // namespace corral::json_schema
