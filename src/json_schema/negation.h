// Negations of schemas, as alternatives: a value that doesn't fit a schema breaks one of its keywords. Keywords whose
// negation a grammar can't express are left out.
#pragma once

#include <cstddef>
#include <string>

#include "json/value.h"
#include "json_schema/variants.h"

namespace corral::json_schema {

// Alternatives whose values don't fit a schema. Not exact: there are more such values, which the grammar leaves out.
struct Negation {
  Variants::List list;
  bool exact = true;
};

// Throws SchemaFault.
Negation negated(Variants& variants, const json::Value& schema, const std::string& at, std::size_t depth);

}  // namespace corral::json_schema
