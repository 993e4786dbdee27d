// Conjunctions of schemas without references and combinators.
#pragma once

#include <string>

#include "json/value.h"

namespace corral::json_schema {

// The assertions of a schema in a uniform form, without annotations, references and combinators:
// - `type`, `enum`, `pattern` and `format` are lists, bounds are as in the newest draft, `items` is one schema;
// - `members` is a list of objects with `properties`, `patternProperties` and `additionalProperties` of one schema
// each:
//   they hold together. `silent` in one of them: it evaluates nothing in the sense of unevaluatedProperties;
// - `contains` is a list of {schema, minContains, maxContains};
// - negations add `excluded` (values), `not_pattern`, `not_format`, `fractional` (no integer) and `negated`.
json::Object plain_form(const json::Object& schema);

// Both in plain_form(). `inexact` is set if the result doesn't express all (multipleOf of numbers with fractions).
json::Object conjunction(json::Object one, const json::Object& other, bool& inexact);

}  // namespace corral::json_schema
