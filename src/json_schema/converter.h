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
#include "json_schema/grammar_text.h"
#include "json_schema/keywords.h"
#include "json_schema/language.h"
#include "json_schema/language_rules.h"

namespace corral::json_schema {

// What the schemas of one grammar share: rules, and the work for patterns, which is bounded for all of them together.
struct Workspace {
  // Names of rules begin with `prefix` (letters and digits).
  explicit Workspace(std::string_view prefix) : text(prefix) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Languages languages;
  GrammarText text;
  LanguageRules rules{languages, text};
};

struct SchemaGrammar {
  std::string root;  // the name of the rule that is the schema; it and those it needs are in the workspace
  std::vector<Unenforced> unenforced;
};

// Errors: the schema means nothing, or no value fits it.
std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, Workspace& workspace);
// Of one of the schema's `properties`, which may refer to the rest of it.
std::expected<SchemaGrammar, SchemaFault> make_property_grammar(const json::Value& schema, std::string_view property,
                                                                Workspace& workspace);
// The types of its values, as `type` names them; none: any.
std::vector<std::string> value_types(const json::Value& root, const json::Value& schema);

}  // namespace corral::json_schema
