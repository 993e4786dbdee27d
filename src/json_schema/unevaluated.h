// unevaluatedProperties and unevaluatedItems of one variant, in plain_form() and without references.
#pragma once

#include "json/value.h"

namespace corral::json_schema {

// What no list of the variant names has this schema: it is the schema of one more list. False: there is no such thing.
bool restrict_properties(json::Object& variant, const json::Value& schema);
// Items that `contains` finds count as evaluated too; the grammar is narrower there.
void restrict_items(json::Object& variant, const json::Value& schema);

}  // namespace corral::json_schema
