// Every keyword of JSON Schema and its effect: enforced by the grammar, an annotation, or not enforced. Keywords
// outside of the specifications are annotations, as the specification demands.
#pragma once

#include <string_view>

#include "json/value.h"

namespace corral::json_schema {

enum class Effect {
  enforced,
  parts,         // enforced; each member of its object is a schema
  schema,        // enforced; a schema, or a list of them
  dependencies,  // enforced; schemas or lists of names
  annotation,
  refused,
};
enum class Takes { anything, text, count, number, flag, list, object, schema, names };

struct Keyword {
  std::string_view name;
  Effect effect = Effect::refused;
  Takes takes = Takes::anything;
};

// Null: it isn't in the specifications.
const Keyword* find_keyword(std::string_view name);
// Whether a value may be a schema.
bool is_schema(const json::Value& value);
// What a keyword's value must be and isn't; empty: nothing.
std::string_view missed_type(Takes takes, const json::Value& value);

}  // namespace corral::json_schema
