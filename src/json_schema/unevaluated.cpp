#include "json_schema/unevaluated.h"

#include <utility>

#include "json_schema/conjunction.h"

namespace corral::json_schema {

using json::Array;
using json::Object;
using json::Value;

bool restrict_properties(Object& variant, const Value& schema) {
  Object names, patterns;
  if (const auto* lists = variant.if_contains("members")) {
    for (const auto& one : lists->as_array()) {
      const auto& members = one.as_object();
      if (members.contains("silent")) continue;
      if (members.contains("additionalProperties")) return false;
      if (const auto* own = members.if_contains("properties")) {
        for (const auto& member : own->as_object()) names[member.key()] = true;
      }
      if (const auto* own = members.if_contains("patternProperties")) {
        for (const auto& member : own->as_object()) patterns[member.key()] = true;
      }
    }
  }
  Object more{{"additionalProperties", schema}};
  if (!names.empty()) more["properties"] = std::move(names);
  if (!patterns.empty()) more["patternProperties"] = std::move(patterns);
  if (!variant.contains("members")) variant["members"] = Array();
  variant["members"].as_array().push_back(std::move(more));
  return true;
}

void restrict_items(Object& variant, const Value& schema) {
  Object more{{"items", schema}};
  if (!variant.contains("negated")) {
    if (variant.contains("items")) return;
    if (const auto* first = variant.if_contains("prefixItems")) {
      more["prefixItems"] = Array(first->as_array().size(), Value(true));
    }
  }
  bool inexact = false;
  variant = conjunction(std::move(variant), more, inexact);
}

}  // namespace corral::json_schema
