// A JSON schema as a grammar (GBNF) whose texts are all JSON and fit the schema. Keywords that a grammar can't express
// are listed; keywords.cpp has the table of all. Where a schema is open, the grammar may be narrower: objects with
// `properties` have no others unless additionalProperties says so.
//
// Pure; safe on every thread. It takes milliseconds for schemas within the limits of protocol/rules.h.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "json_schema/keywords.h"

namespace corral::json_schema {

struct SchemaGrammar {
  std::string root;   // the name of the rule that is the schema
  std::string rules;  // that rule and those it needs
  std::vector<Unenforced> unenforced;
};

// Names of rules begin with `prefix` (letters and digits). `languages` may serve several schemas: that bounds the work
// of all of them together. Errors: the schema means nothing, or no value fits it.
std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, std::string_view prefix,
                                                       Languages& languages);
// Of one of the schema's `properties`, which may refer to the rest of it.
std::expected<SchemaGrammar, SchemaFault> make_property_grammar(const json::Value& schema, std::string_view property,
                                                                std::string_view prefix, Languages& languages);
// The types of its values, as `type` names them; none: any.
std::vector<std::string> value_types(const json::Value& root, const json::Value& schema);

}  // namespace corral::json_schema
