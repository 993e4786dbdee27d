#include "json_schema/negated_keywords.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "json_schema/formats.h"
#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view kAllTypes[] = {"object", "array", "string", "number", "boolean", "null"};

bool lists(const Array& list, const Value& value) { return std::ranges::find(list, value) != list.end(); }

Object of_type(std::string_view type) { return {{"type", Array{Value(type)}}, {"negated", true}}; }

Object and_also(Object made, std::string_view name, Value value) {
  made[name] = std::move(value);
  return made;
}

Object lone_member(std::string_view name, Value schema) {
  return and_also(of_type("object"), "members",
                  Array{Object{{"properties", Object{{name, std::move(schema)}}}, {"silent", true}}});
}

// A keyword of a count or bound, and the one that contradicts it.
struct Opposite {
  std::string_view keyword, type, opposite;
  int step;  // from the value of the one to that of the other
};
constexpr Opposite kOpposites[] = {
    {"minLength", "string", "maxLength", -1},
    {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},
    {"maxItems", "array", "minItems", 1},
    {"minProperties", "object", "maxProperties", -1},
    {"maxProperties", "object", "minProperties", 1},
    {"minimum", "number", "exclusiveMaximum", 0},
    {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0},
    {"exclusiveMaximum", "number", "minimum", 0},
};

void negate_types(const Array& types, std::vector<Object>& made) {
  Array others;
  for (const auto type : kAllTypes) {
    const bool part = type == "number" && lists(types, "integer");
    if (!lists(types, Value(type)) && !part) others.emplace_back(type);
  }
  if (!others.empty()) made.push_back({{"type", others}, {"negated", true}});
  if (lists(types, "integer") && !lists(types, "number")) {
    made.push_back(and_also(of_type("number"), "fractional", true));
  }
}

// A grammar can't say that an object or an array is another one than these.
bool negate_values(const Array& values, std::vector<Object>& made) {
  const bool objects = std::ranges::any_of(values, [](const Value& one) { return one.is_object(); });
  const bool arrays = std::ranges::any_of(values, [](const Value& one) { return one.is_array(); });
  Array types;
  for (const auto type : kAllTypes) {
    if ((type == "object" && objects) || (type == "array" && arrays)) continue;
    types.emplace_back(type);
  }
  made.push_back({{"type", types}, {"excluded", values}, {"negated", true}});
  const bool plain = std::ranges::all_of(values, [](const Value& one) {
    return (!one.is_object() || one.as_object().empty()) && (!one.is_array() || one.as_array().empty());
  });
  if (plain && objects) made.push_back(and_also(of_type("object"), "minProperties", 1));
  if (plain && arrays) made.push_back(and_also(of_type("array"), "minItems", 1));
  return plain || !(objects || arrays);
}

void negate_bounds(const Object& plain, std::vector<Object>& made) {
  for (const auto& [keyword, type, opposite, step] : kOpposites) {
    const auto* value = plain.if_contains(keyword);
    if (!value || !value->is_number()) continue;
    if (step == 0) {
      made.push_back(and_also(of_type(type), opposite, *value));
    } else if (const auto count = value->to_number<double>() + step; count >= 0) {
      made.push_back(and_also(of_type(type), opposite, static_cast<std::int64_t>(std::min(count, 1e9))));
    }
  }
}

// False: there are more strings of another format than those without what all of the format have.
bool negate_strings(const Object& plain, std::vector<Object>& made) {
  bool exact = true;
  if (const auto* patterns = plain.if_contains("pattern")) {
    for (const auto& one : patterns->as_array()) made.push_back(and_also(of_type("string"), "not_pattern", Array{one}));
  }
  if (const auto* formats = plain.if_contains("format")) {
    for (const auto& one : formats->as_array()) {
      const auto pattern = format_pattern(one.as_string());
      if (!pattern || pattern->empty()) continue;
      if (const auto wide = wide_format_pattern(one.as_string())) {
        made.push_back(and_also(of_type("string"), "not_pattern", Array{Value(*wide)}));
        exact = false;
      } else {
        made.push_back(and_also(of_type("string"), "not_format", Array{one}));
      }
    }
  }
  return exact;
}

// Properties and required names. False: there are more values that break them.
bool negate_members(const Object& schema, const Object& plain, std::size_t max, std::vector<Object>& made) {
  static const Object kNone;
  const auto* properties = schema.if_contains("properties");
  const auto& named = properties ? properties->as_object() : kNone;
  const auto required = plain.contains("required") ? plain.at("required").as_array() : Array();
  const ValueSet needed(required);
  const auto opposite = [](const Value& one) {
    return one.is_bool() ? Value(!one.as_bool()) : one == Value(Object()) ? Value(false) : Value(Object{{"not", one}});
  };
  for (const auto& name : required) {
    if (made.size() > max) return false;
    const auto* own = named.if_contains(name.as_string());
    made.push_back(lone_member(name.as_string(), own ? opposite(*own) : Value(false)));
  }
  for (const auto& [name, own] : named) {
    if (made.size() > max) return false;
    if (needed.contains(Value(name))) continue;
    auto inner = opposite(own);
    if (inner == Value(false)) continue;
    made.push_back(and_also(lone_member(name, std::move(inner)), "required", Array{Value(name)}));
  }
  const auto* others = schema.if_contains("additionalProperties");
  return !schema.contains("patternProperties") && !schema.contains("propertyNames") &&
         (!others || *others == Value(true) || *others == Value(Object()));
}

bool negate_items(const Object& plain, std::vector<Object>& made) {
  const auto* items = plain.if_contains("items");
  if (items && !plain.contains("prefixItems") && *items != Value(true)) {
    made.push_back(and_also(of_type("array"), "contains", Array{Object{{"schema", Object{{"not", *items}}}}}));
  }
  bool exact = !plain.contains("prefixItems") && !plain.contains("uniqueItems");
  if (const auto* contained = plain.if_contains("contains")) {
    const auto& one = contained->as_array().front().as_object();
    const auto* min = one.if_contains("minContains");
    const bool some = !min || min->to_number<double>() == 1;
    if (some) made.push_back(and_also(of_type("array"), "items", Object{{"not", one.at("schema")}}));
    exact = exact && some && !one.contains("maxContains");
  }
  return exact;
}

}  // namespace

bool negate_keywords(const Object& schema, const Object& plain, std::size_t max, std::vector<Object>& made) {
  bool exact = true;
  if (const auto* types = plain.if_contains("type")) negate_types(types->as_array(), made);
  if (const auto* values = plain.if_contains("enum")) exact = negate_values(values->as_array(), made);
  exact = negate_members(schema, plain, max, made) && exact;
  negate_bounds(plain, made);
  exact = negate_strings(plain, made) && exact;
  return negate_items(plain, made) && exact;
}

}  // namespace corral::json_schema
