#include "json_schema/conjunction.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::string_view kAssertions[] = {
    "type",          "enum",       "minLength",        "maxLength",        "pattern",  "format",        "minimum",
    "maximum",       "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "required", "minProperties", "maxProperties",
    "propertyNames", "items",      "prefixItems",      "minItems",         "maxItems"};
// Keywords that depend on each other, so that they stay together.
constexpr std::string_view kMembers[] = {"properties", "patternProperties", "additionalProperties"};

Array as_list(const Value& value) { return value.is_array() ? value.as_array() : Array{value}; }

bool contains(const Array& list, const Value& value) { return std::ranges::find(list, value) != list.end(); }

Value all_of(const Value& one, const Value& other) {
  if (one == other || (other.is_bool() && other.as_bool())) return one;
  if (one.is_bool()) return one.as_bool() ? other : one;
  if (other.is_bool()) return other;
  return Object{{"allOf", Array{one, other}}};
}

Array common_types(const Array& one, const Array& other) {
  Array both;
  for (const auto& type : one) {
    if (contains(other, type)) {
      both.push_back(type);
    } else if (type == "number" && contains(other, "integer")) {
      both.emplace_back("integer");
    } else if (type == "integer" && contains(other, "number")) {
      both.push_back(type);
    }
  }
  return both;
}

Array common_values(const Array& one, const Array& other) {
  const ValueSet others(other);
  Array both;
  for (const auto& value : one) {
    if (others.contains(value)) both.push_back(value);
  }
  return both;
}

Array joined(const Array& one, const Array& other) {
  ValueSet known(one);
  Array all = one;
  for (const auto& value : other) {
    if (known.insert(value)) all.push_back(value);
  }
  return all;
}

// The subschema of the item at `index`; nullptr: none.
const Value* keyword_value(const Object& schema, std::size_t index) {
  if (const auto* first = schema.if_contains("prefixItems"); first && index < first->as_array().size()) {
    return &first->as_array()[index];
  }
  return schema.if_contains("items");
}

Array common_items(const Object& one, const Object& other) {
  std::size_t count = 0;
  for (const auto* schema : {&one, &other}) {
    if (const auto* first = schema->if_contains("prefixItems")) count = std::max(count, first->as_array().size());
  }
  Array all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto *first = keyword_value(one, i), *second = keyword_value(other, i);
    all.push_back(first && second ? all_of(*first, *second) : first ? *first : second ? *second : Value(true));
  }
  return all;
}

// Exact for large integers, too.
bool below(const Value& one, const Value& other) {
  if (one.is_double() || other.is_double()) return one.to_number<double>() < other.to_number<double>();
  if (one.is_uint64()) return other.is_uint64() && one.as_uint64() < other.as_uint64();
  return other.is_uint64() ? std::cmp_less(one.as_int64(), other.as_uint64()) : one.as_int64() < other.as_int64();
}

Value tighter(std::string_view name, const Value& one, const Value& other, bool& inexact) {
  if (name.starts_with("min") || name == "exclusiveMinimum") return below(one, other) ? other : one;
  if (name.starts_with("max") || name == "exclusiveMaximum") return below(other, one) ? other : one;
  // multipleOf
  if (same(one, other)) return one;
  const auto a = one.to_number<double>(), b = other.to_number<double>();
  const auto whole = [](double value) { return value >= 1 && value <= 2000 && value == static_cast<int>(value); };
  if (whole(a) && whole(b)) return std::lcm(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  inexact = true;
  return one;
}

Value common(std::string_view name, const Value& one, const Value& other, bool& inexact) {
  if (name == "type") return common_types(one.as_array(), other.as_array());
  if (name == "enum") return common_values(one.as_array(), other.as_array());
  if (one.is_array() && other.is_array()) return joined(one.as_array(), other.as_array());
  if (one.is_bool() && other.is_bool() && name != "items" && name != "propertyNames") return true;
  if (one.is_number() && other.is_number()) return tighter(name, one, other, inexact);
  return all_of(one, other);  // propertyNames, items
}

// Draft 4 has {"minimum": 1, "exclusiveMinimum": true}.
void renew_bound(Object& schema, std::string_view bound, std::string_view exclusive) {
  const auto* flag = schema.if_contains(exclusive);
  if (!flag || flag->is_number()) return;
  const bool counts = flag->is_bool() && flag->as_bool() && schema.contains(bound);
  schema.erase(exclusive);
  if (!counts) return;
  const auto value = schema.at(bound);
  schema[exclusive] = value;
  schema.erase(bound);
}

// Draft 7 has {"items": [...], "additionalItems": {...}}.
void renew_items(Object& schema, const Object& from) {
  const auto* items = schema.if_contains("items");
  if (!items || !items->is_array()) return;
  const auto first = *items;
  schema.erase("items");
  schema["prefixItems"] = first;
  if (const auto* more = from.if_contains("additionalItems")) schema["items"] = *more;
}

// Draft 4 to 2020-12 agree on `contains`; its limits are beside it.
void renew_contains(Object& plain, const Object& from) {
  const auto* schema = from.if_contains("contains");
  if (!schema) return;
  Object one{{"schema", *schema}};
  for (const auto* limit : {"minContains", "maxContains"}) {
    if (const auto* value = from.if_contains(limit); value && value->is_number()) one[limit] = *value;
  }
  plain["contains"] = Array{std::move(one)};
}

}  // namespace

Object plain_form(const Object& schema) {
  Object plain;
  for (const auto name : kAssertions) {
    const auto* value = schema.if_contains(name);
    if (!value) continue;
    const bool list = name == "type" || name == "pattern" || name == "format";
    plain[name] = list ? Value(as_list(*value)) : *value;
  }
  if (const auto* value = schema.if_contains("const")) {
    const Array only{*value};
    plain["enum"] = plain.contains("enum") ? common_values(plain.at("enum").as_array(), only) : only;
  }
  if (const auto* unique = schema.if_contains("uniqueItems"); unique && *unique == Value(true)) {
    plain["uniqueItems"] = true;
  }
  Object members;
  for (const auto name : kMembers) {
    if (const auto* value = schema.if_contains(name)) members[name] = *value;
  }
  if (!members.empty()) plain["members"] = Array{std::move(members)};
  renew_bound(plain, "minimum", "exclusiveMinimum");
  renew_bound(plain, "maximum", "exclusiveMaximum");
  renew_items(plain, schema);
  renew_contains(plain, schema);
  return plain;
}

Object conjunction(Object one, const Object& other, bool& inexact) {
  const auto before = one;
  for (const auto& [name, value] : other) {
    if (const auto* own = before.if_contains(name); own && name != "prefixItems") {
      one[name] = common(name, *own, value, inexact);
    } else if (!own) {
      one[name] = value;
    }
  }
  if (one.contains("prefixItems")) one["prefixItems"] = common_items(before, other);
  return one;
}

}  // namespace corral::json_schema
