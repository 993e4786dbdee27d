// Types and equality of JSON values, and sets of them.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "json/value.h"

namespace corral::json_schema {

// Integers are written without a fraction, or with one of zeros.
bool is_integer(const json::Value& value);
// `type` is a name of `type`.
bool has_type(const json::Value& value, std::string_view type);
// Equal as JSON: 1 and 1.0 are.
bool same(const json::Value& one, const json::Value& other);
// Approximate size of a copy, in bytes.
std::size_t size_of(const json::Value& value);

// Lists may have 100,000 values, so a comparison of each with each would take minutes.
class ValueSet {
 public:
  // The values must outlive it.
  ValueSet() = default;
  explicit ValueSet(const json::Array& values) {
    for (const auto& value : values) insert(value);
  }

  bool contains(const json::Value& value) const;
  // False: it has the same one already.
  bool insert(const json::Value& value);

 private:
  std::unordered_multimap<std::size_t, const json::Value*> values_;  // by their hash
};

}  // namespace corral::json_schema
