// Conjunctions of schemas without references and combinators.
#pragma once

#include <string>

#include "json/value.h"

namespace corral::json_schema {

// The assertions of a schema in a uniform form: `type`, `enum`, `pattern` and `format` as lists, bounds as in the
// newest draft. Without annotations, references and combinators.
json::Object plain_form(const json::Object& schema);

// Both in plain_form(). `inexact` is set if keywords of the two interact in a way that the result doesn't express
// (patternProperties of one with properties of the other).
json::Object conjunction(json::Object one, const json::Object& other, bool& inexact);

}  // namespace corral::json_schema
