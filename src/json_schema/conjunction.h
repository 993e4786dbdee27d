// Schemas without references and combinators, and the schema that says as much as two of them together.
#pragma once

#include <string>

#include "json/value.h"

namespace corral::json_schema {

// The assertions of a schema, in one form each: `type`, `enum`, `pattern` and `format` as lists, bounds as in the
// newest draft. Without annotations, references and combinators.
json::Object plain_form(const json::Object& schema);

// Both as plain_form() makes them. `inexact` is set where keywords of the two depend on each other in a way that the
// result doesn't tell (patternProperties of one beside properties of the other).
json::Object conjunction(json::Object one, const json::Object& other, bool& inexact);

}  // namespace corral::json_schema
