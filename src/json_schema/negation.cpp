// Negations of schemas, as alternatives: a value that doesn't fit a schema breaks one of its keywords. Keywords whose
// negation a grammar can't express are left out.
#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "json_schema/conjunction.h"
#include "json_schema/formats.h"
#include "json_schema/variants.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxNegations = 24;  // inside each other
constexpr std::size_t kMaxList = 64;

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

void negate_strings(const Object& plain, std::vector<Object>& made) {
  if (const auto* patterns = plain.if_contains("pattern")) {
    for (const auto& one : patterns->as_array()) made.push_back(and_also(of_type("string"), "not_pattern", Array{one}));
  }
  if (const auto* formats = plain.if_contains("format")) {
    for (const auto& one : formats->as_array()) {
      const auto pattern = format_pattern(one.as_string());
      if (pattern && !pattern->empty()) made.push_back(and_also(of_type("string"), "not_format", Array{one}));
    }
  }
}

// Properties and required names. False: there are more values that break them.
bool negate_members(const Object& schema, const Object& plain, std::vector<Object>& made) {
  static const Object kNone;
  const auto* properties = schema.if_contains("properties");
  const auto& named = properties ? properties->as_object() : kNone;
  const auto required = plain.contains("required") ? plain.at("required").as_array() : Array();
  const auto opposite = [](const Value& one) {
    return one.is_bool() ? Value(!one.as_bool()) : one == Value(Object()) ? Value(false) : Value(Object{{"not", one}});
  };
  for (const auto& name : required) {
    const auto* own = named.if_contains(name.as_string());
    made.push_back(lone_member(name.as_string(), own ? opposite(*own) : Value(false)));
  }
  for (const auto& [name, own] : named) {
    if (lists(required, Value(name))) continue;
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
    const auto* least = one.if_contains("minContains");
    const bool some = !least || least->to_number<double>() == 1;
    if (some) made.push_back(and_also(of_type("array"), "items", Object{{"not", one.at("schema")}}));
    exact = exact && some && !one.contains("maxContains");
  }
  return exact;
}

}  // namespace

Variants::Negation Variants::negated(const Value& schema, const std::string& at, std::size_t depth) {
  if (schema.is_bool()) return {schema.as_bool() ? List() : List{Object()}, true};
  if (++steps_ > kMaxSteps) throw SchemaFault{at, "has too many alternatives: make the schema smaller"};
  if (spent() || depth > kMaxNegations || !schema.is_object()) return {{}, false};
  const auto& object = schema.as_object();
  const auto plain = plain_form(object);
  Negation made;
  if (const auto* types = plain.if_contains("type")) negate_types(types->as_array(), made.list);
  if (const auto* values = plain.if_contains("enum")) made.exact = negate_values(values->as_array(), made.list);
  made.exact = negate_members(object, plain, made.list) && made.exact;
  negate_bounds(plain, made.list);
  negate_strings(plain, made.list);
  made.exact = negate_items(plain, made.list) && made.exact;
  for (const auto* keyword : {"multipleOf", "$dynamicRef", "unevaluatedProperties", "unevaluatedItems"}) {
    made.exact = made.exact && !object.contains(keyword);
  }
  negate_combinators(object, at, depth, made);
  if (made.list.size() > kMaxList) {
    made.list.resize(kMaxList);
    made.exact = false;
  }
  return made;
}

void Variants::negate_combinators(const Object& schema, const std::string& at, std::size_t depth, Negation& made) {
  const auto add = [&](List more, bool exact) {
    std::ranges::move(more, std::back_inserter(made.list));
    made.exact = made.exact && exact;
  };
  if (const auto* ref = schema.if_contains("$ref")) {
    const std::string name(ref->as_string());
    auto inner = negated(resolve(root_, name, at), name, depth + 1);
    add(std::move(inner.list), inner.exact);
  }
  if (const auto* parts = schema.if_contains("allOf")) {
    for (const auto& one : parts->as_array()) {
      auto inner = negated(one, at, depth + 1);
      add(std::move(inner.list), inner.exact);
    }
  }
  // None of them is more than oneOf needs: several might fit.
  for (const auto* keyword : {"anyOf", "oneOf"}) {
    const auto* parts = schema.if_contains(keyword);
    if (!parts) continue;
    auto inner = negated_all(*parts, at, depth + 1);
    add(std::move(inner.list), inner.exact && keyword[0] == 'a');
  }
  if (const auto* inner = schema.if_contains("not")) {
    auto list = write_out(expand(*inner, pointer_to(at, "not"), depth + 1), at, depth);
    for (auto& one : list) {
      one["negated"] = true;
      if (auto* members = one.if_contains("members")) {
        for (auto& part : members->as_array()) part.as_object()["silent"] = true;
      }
    }
    add(std::move(list), true);
  }
  if (const auto* condition = schema.if_contains("if")) {
    if (const auto* then = schema.if_contains("then")) {
      auto inner = negated(*then, at, depth + 1);
      add(cross(expand(*condition, at, depth + 1), inner.list, at, depth, kMaxList), inner.exact);
    }
    if (const auto* otherwise = schema.if_contains("else")) {
      auto no = negated(*condition, at, depth + 1), inner = negated(*otherwise, at, depth + 1);
      add(cross(no.list, inner.list, at, depth, kMaxList), no.exact && inner.exact);
    }
  }
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    if (schema.contains(keyword)) made.exact = false;
  }
}

Variants::Negation Variants::negated_all(const Value& schemas, const std::string& at, std::size_t depth) {
  Negation all{{Object()}, true};
  for (const auto& one : schemas.as_array()) {
    auto inner = negated(one, at, depth + 1);
    all.exact = all.exact && inner.exact;
    all.list = cross(all.list, inner.list, at, depth, kMaxList);
    all.exact = all.exact && all.list.size() < kMaxList && !spent();
  }
  return all;
}

}  // namespace corral::json_schema
