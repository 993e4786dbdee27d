// Converts a JSON schema to a grammar (GBNF): all its texts are JSON and fit the schema. Keywords that a grammar can't
// express are listed; keyword_table.cpp has all of them. Properties come in the order of the schema, then others.
//
// Pure; safe on every thread. It takes milliseconds for usual schemas. The work for all schemas of one workspace has a
// limit of one to two seconds.
#pragma once

#include <cstdint>
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

// Shared state of the schemas of one grammar: rules, and the work for patterns, which has a common limit.
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
  std::string root;  // the name of the schema's rule; this and the rules it needs are in the workspace
  std::vector<Unenforced> unenforced;
};

// How a schema is read. Strict: as the specification says. Lenient: objects that name properties have no others unless
// additionalProperties permits them, and keywords about one type stand for this type, because small models write
// whatever they may.
enum class Reading : std::uint8_t { lenient, strict };

// Errors: the schema is invalid, or no value fits it.
std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, Workspace& workspace,
                                                       Reading reading);
// For one of the schema's `properties`, which may refer to the rest of it, but only by pointers (refs.h).
std::expected<SchemaGrammar, SchemaFault> make_property_grammar(const json::Value& schema, std::string_view property,
                                                                Workspace& workspace, Reading reading);
// The types of its values, with the names of `type`; empty: any. `root` has references by pointers only.
std::vector<std::string> value_types(const json::Value& root, const json::Value& schema, Workspace& workspace);

}  // namespace corral::json_schema
