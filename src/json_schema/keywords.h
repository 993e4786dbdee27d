// Every keyword of JSON Schema and what becomes of it: enforced by the grammar, an annotation, or not enforced.
// Keywords that stand in no specification are annotations, as the specification says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "json_schema/language.h"

namespace corral::json_schema {

// A keyword that a grammar doesn't enforce.
struct Unenforced {
  std::string keyword;
  std::string pointer;  // JSON pointer of the keyword, such as "#/properties/a/uniqueItems"
  std::string reason;   // perhaps empty

  friend bool operator==(const Unenforced&, const Unenforced&) = default;
};

// Thrown: a schema that means nothing, or that no value fits.
struct SchemaFault {
  std::string pointer;
  std::string reason;  // follows the pointer in a sentence
};

// What a "$ref" names. Throws SchemaFault.
const json::Value& resolve(const json::Value& root, std::string_view ref, const std::string& at);
// A pointer to a member of what `at` points to.
std::string pointer_to(const std::string& at, std::string_view member);

// What isn't enforced in `schema`, which stands in `root` at `at`, and in all that it refers to. Without `languages` it
// is not looked at how complex patterns are. Throws SchemaFault for values of the wrong type.
std::vector<Unenforced> check_keywords(const json::Value& root, const json::Value& schema, const std::string& at,
                                       Languages* languages);

}  // namespace corral::json_schema
