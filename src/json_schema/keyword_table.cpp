#include "json_schema/keyword_table.h"

#include <algorithm>
#include <unordered_map>

#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Value;

constexpr Keyword kKeywords[] = {
    // Types and values.
    {"type", Effect::enforced},
    {"enum", Effect::enforced, Takes::list},
    {"const", Effect::enforced},
    {"$ref", Effect::enforced, Takes::text},
    {"anyOf", Effect::schema, Takes::list},
    {"oneOf", Effect::schema, Takes::list},
    {"allOf", Effect::schema, Takes::list},
    {"not", Effect::schema, Takes::schema},
    {"if", Effect::schema, Takes::schema},
    {"then", Effect::schema, Takes::schema},
    {"else", Effect::schema, Takes::schema},
    {"$dynamicRef"},
    {"$recursiveRef"},
    // Strings.
    {"minLength", Effect::enforced, Takes::count},
    {"maxLength", Effect::enforced, Takes::count},
    {"pattern", Effect::enforced, Takes::text},
    {"format", Effect::enforced, Takes::text},  // those of formats.h
    // Numbers.
    {"minimum", Effect::enforced, Takes::number},
    {"maximum", Effect::enforced, Takes::number},
    {"exclusiveMinimum", Effect::enforced},  // draft 4 has a boolean next to `minimum`
    {"exclusiveMaximum", Effect::enforced},
    {"multipleOf", Effect::enforced, Takes::number},  // of few digits
    // Objects.
    {"properties", Effect::parts, Takes::object},
    {"patternProperties", Effect::parts, Takes::object},
    {"additionalProperties", Effect::schema, Takes::schema},
    {"propertyNames", Effect::schema, Takes::schema},
    {"required", Effect::enforced, Takes::names},
    {"dependentRequired", Effect::enforced, Takes::object},
    {"minProperties", Effect::enforced, Takes::count},
    {"maxProperties", Effect::enforced, Takes::count},
    {"unevaluatedProperties", Effect::schema, Takes::schema},
    {"dependentSchemas", Effect::parts, Takes::object},
    {"dependencies", Effect::dependencies, Takes::object},
    // Arrays.
    {"items", Effect::schema},
    {"prefixItems", Effect::schema, Takes::list},
    {"additionalItems", Effect::schema, Takes::schema},
    {"minItems", Effect::enforced, Takes::count},
    {"maxItems", Effect::enforced, Takes::count},
    {"uniqueItems", Effect::enforced, Takes::flag},  // of listed values
    {"contains", Effect::schema, Takes::schema},
    {"minContains", Effect::annotation, Takes::count},  // no effect without `contains`
    {"maxContains", Effect::annotation, Takes::count},
    {"unevaluatedItems", Effect::schema, Takes::schema},
    // Annotations that have a meaning elsewhere.
    {"contentEncoding", Effect::annotation},
    {"contentMediaType", Effect::annotation},
    {"contentSchema", Effect::annotation},
    {"title", Effect::annotation},
    {"description", Effect::annotation},
    {"default", Effect::annotation},
    {"examples", Effect::annotation},
    {"deprecated", Effect::annotation},
    {"readOnly", Effect::annotation},
    {"writeOnly", Effect::annotation},
    {"$comment", Effect::annotation},
    {"$schema", Effect::annotation},
    {"$id", Effect::annotation},
    {"$anchor", Effect::annotation},
    {"$dynamicAnchor", Effect::annotation},
    {"$recursiveAnchor", Effect::annotation},
    {"$vocabulary", Effect::annotation},
    {"$defs", Effect::annotation},
    {"definitions", Effect::annotation},
};

bool is_text(const Value& value) { return value.is_string(); }

}  // namespace

const Keyword* find_keyword(std::string_view name) {
  static const std::unordered_map<std::string_view, const Keyword*> keywords = [] {
    std::unordered_map<std::string_view, const Keyword*> all;
    for (const auto& one : kKeywords) all.emplace(one.name, &one);
    return all;
  }();
  const auto known = keywords.find(name);
  return known == keywords.end() ? nullptr : known->second;
}

bool is_schema(const Value& value) { return value.is_object() || value.is_bool(); }

std::string_view missed_type(Takes takes, const Value& value) {
  switch (takes) {
    case Takes::anything:
      return {};
    case Takes::text:
      return value.is_string() ? "" : "a string";
    case Takes::count:
      return is_integer(value) && value.to_number<double>() >= 0 ? "" : "a whole number from 0 up";
    case Takes::number:
      return value.is_number() ? "" : "a number";
    case Takes::flag:
      return value.is_bool() ? "" : "a boolean";
    case Takes::list:
      return value.is_array() && !value.as_array().empty() ? "" : "an array that isn't empty";
    case Takes::object:
      return value.is_object() ? "" : "an object";
    case Takes::schema:
      return is_schema(value) ? "" : "a schema: an object or a boolean";
    case Takes::names:
      return value.is_array() && std::ranges::all_of(value.as_array(), is_text) ? "" : "an array of names";
  }
  return {};
}

}  // namespace corral::json_schema
