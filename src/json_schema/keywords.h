// What a schema has that a grammar doesn't enforce, and what is invalid in it.
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
  std::string pointer;      // JSON pointer of the keyword, such as "#/properties/a/uniqueItems"
  std::string reason;       // may be empty
  bool annotation = false;  // nothing that a schema may rely on: no reason to refuse it

  friend bool operator==(const Unenforced&, const Unenforced&) = default;
};

// Thrown: the schema is invalid, or no value fits it.
struct SchemaFault {
  std::string pointer;
  std::string reason;  // follows the pointer in a sentence
};

// The unenforced keywords in `schema`, which is in `root` at `at`, and in all its references. Without `languages` the
// complexity of patterns isn't checked. Throws SchemaFault for values of the wrong type.
std::vector<Unenforced> check_keywords(const json::Value& root, const json::Value& schema, const std::string& at,
                                       Languages* languages);

}  // namespace corral::json_schema
