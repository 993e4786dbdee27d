// References by URI and by anchor.
#pragma once

#include "json/value.h"

namespace corral::json_schema {

// Both throw SchemaFault if the names of its parts are too long.

// Whether `root` has references other than JSON pointers ("#/$defs/x"), or parts with an own `$id`, which such pointers
// depend on.
bool has_named_refs(const json::Value& root);

// A copy of `root` in which each "$ref" to a part of it is a JSON pointer; the others are unchanged. A "$dynamicRef"
// with only one target becomes a "$ref".
json::Value with_pointers(const json::Value& root);

}  // namespace corral::json_schema
