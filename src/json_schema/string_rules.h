// Strings as grammar rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

// `schema` is in plain_form().
SchemaRules::Rule string_rule(SchemaRules& rules, const json::Object& schema, const std::string& at);
// The strings that fit the string assertions of `schema`; nothing: all. Unsupported or too complex assertions are
// omitted and reported.
std::optional<Language> strings_of(SchemaRules& rules, const json::Object& schema, const std::string& at);
// The first keyword that restricts strings; empty: none.
std::string_view pattern_keyword(const json::Object& schema);

}  // namespace corral::json_schema
