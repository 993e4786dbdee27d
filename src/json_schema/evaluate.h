// Whether a constant fits a schema.
#pragma once

#include <string_view>

#include "json/value.h"
#include "json_schema/language.h"

namespace corral::json_schema {

// Thrown: a keyword that constants can't be compared with, or too much work.
struct NotEvaluated {
  std::string_view keyword;
};

class Evaluator {
 public:
  // Both must outlive it. All its calls share one limit of work.
  Evaluator(const json::Value& root, Languages& languages) : root_(root), languages_(languages) {}

  // Throw NotEvaluated, TooComplex, UnsupportedPattern, SchemaFault.
  bool fits(const json::Value& schema, const json::Value& value);
  // In plain_form(), and a value of its `enum`.
  bool fits_plain(const json::Object& plain, const json::Value& value);

 private:
  bool fits_whole(const json::Object& schema, const json::Value& value);
  bool fits_combinators(const json::Object& schema, const json::Value& value);
  bool fits_assertions(const json::Object& schema, const json::Value& value, bool plain);
  bool fits_object(const json::Object& schema, const json::Object& value, bool plain);
  bool fits_members(const json::Object& members, const json::Object& value);
  bool fits_array(const json::Object& schema, const json::Array& value, bool plain);
  bool fits_contains(const json::Value& wanted, const json::Object& limits, const json::Array& value);
  bool fits_string(const json::Object& schema, std::string_view value);
  bool fits_number(const json::Object& schema, const json::Value& value);

  const json::Value& root_;
  Languages& languages_;
  std::size_t steps_ = 0, depth_ = 0;
};

}  // namespace corral::json_schema
