#include "json_schema/variants.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "json_schema/conjunction.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxVariants = 256;
constexpr std::size_t kMaxSteps = 20'000;
constexpr std::size_t kMaxHops = 64;
constexpr std::size_t kMaxBytes = 32 * 1024 * 1024;  // of all copies

// Approximate size of a copy.
std::size_t size_of(const Value& value) {
  std::size_t bytes = sizeof(Value);
  if (value.is_string()) bytes += value.as_string().size();
  if (value.is_array()) {
    for (const auto& one : value.as_array()) bytes += size_of(one);
  }
  if (value.is_object()) {
    for (const auto& [name, one] : value.as_object()) bytes += name.size() + size_of(one);
  }
  return bytes;
}

bool is_ref(const Object& variant) { return variant.contains("$ref"); }

bool disjoint_lists(const Object& one, const Object& other, std::string_view name) {
  const auto *first = one.if_contains(name), *second = other.if_contains(name);
  if (!first || !second) return false;
  return std::ranges::none_of(first->as_array(), [&](const Value& value) {
    const auto& list = second->as_array();
    const auto has = [&](std::string_view type) { return std::ranges::find(list, Value(type)) != list.end(); };
    if (name == "type" && (value == "number" || value == "integer")) return has("number") || has("integer");
    return std::ranges::find(list, value) != list.end();
  });
}

bool requires_property(const Object& schema, std::string_view name) {
  const auto* required = schema.if_contains("required");
  return required && std::ranges::find(required->as_array(), Value(name)) != required->as_array().end();
}

// Whether a grammar of this schema has only the listed properties.
bool is_closed(const Object& schema) {
  return schema.contains("properties") && !schema.contains("additionalProperties") &&
         !schema.contains("patternProperties");
}

bool objects_only(const Object& schema) {
  const auto* types = schema.if_contains("type");
  return types ? types->as_array() == Array{"object"} : schema.contains("properties");
}

// Whether values of `one` lack a property that `other` requires.
bool lacks_required(const Object& one, const Object& other) {
  const auto* required = other.if_contains("required");
  if (!required || !is_closed(one)) return false;
  return std::ranges::any_of(required->as_array(), [&](const Value& name) {
    return !one.at("properties").as_object().contains(name.as_string()) && !requires_property(one, name.as_string());
  });
}

}  // namespace

bool exclude_each_other(const Object& one, const Object& other) {
  if (is_ref(one) || is_ref(other)) return false;
  if (disjoint_lists(one, other, "type") || disjoint_lists(one, other, "enum")) return true;
  if (!objects_only(one) || !objects_only(other)) return false;
  if (lacks_required(one, other) && lacks_required(other, one)) return true;
  const auto *first = one.if_contains("properties"), *second = other.if_contains("properties");
  if (!first || !second) return false;
  return std::ranges::any_of(first->as_object(), [&](const auto& member) {
    const auto* facing = second->as_object().if_contains(member.key());
    if (!facing || !facing->is_object() || !member.value().is_object()) return false;
    const auto a = plain_form(member.value().as_object()), b = plain_form(facing->as_object());
    return requires_property(one, member.key()) && requires_property(other, member.key()) &&
           (disjoint_lists(a, b, "type") || disjoint_lists(a, b, "enum"));
  });
}

void Variants::report(std::string_view keyword, const std::string& at, std::string reason) {
  Unenforced one{std::string(keyword), pointer_to(at, keyword), std::move(reason)};
  if (std::ranges::find(unenforced_, one) == unenforced_.end()) unenforced_.push_back(std::move(one));
}

void Variants::count(const Object& made, const std::string& at) {
  for (const auto& [name, value] : made) bytes_ += name.size() + size_of(value);
  if (bytes_ > kMaxBytes) throw SchemaFault{at, "is copied too often by its alternatives: make the schema smaller"};
}

std::vector<Object> Variants::of(const Value& schema, const std::string& at) { return expand(schema, at, 0); }

std::vector<Object> Variants::written_out(const Value& schema) {
  List all;
  for (const auto& one : of(schema, "#")) std::ranges::move(expand_ref(one, "#", 0), std::back_inserter(all));
  return all;
}

Variants::List Variants::expand(const Value& schema, const std::string& at, std::size_t depth) {
  if (++steps_ > kMaxSteps) throw SchemaFault{at, "has too many alternatives: make the schema smaller"};
  if (depth > kMaxHops) throw SchemaFault{at, "has references without an end"};
  if (schema.is_bool()) return schema.as_bool() ? List{Object()} : List();
  const auto& object = schema.as_object();
  List all{plain_form(object)};
  count(all.front(), at);
  if (const auto* ref = object.if_contains("$ref")) all = cross(all, {Object{{"$ref", *ref}}}, at, depth);
  if (const auto* parts = object.if_contains("allOf")) {
    const auto here = pointer_to(at, "allOf");
    for (std::size_t i = 0; i < parts->as_array().size(); ++i) {
      all = cross(all, expand(parts->as_array()[i], fmt::format("{}/{}", here, i), depth + 1), at, depth);
    }
  }
  for (const auto* keyword : {"anyOf", "oneOf"}) {
    if (const auto* list = object.if_contains(keyword)) {
      all = cross(all, alternatives(keyword, *list, at, depth), at, depth);
    }
  }
  if (const auto* names = object.if_contains("dependentRequired")) {
    for (const auto& [name, required] : names->as_object()) all = cross(all, dependents(name, required), at, depth);
  }
  return all;
}

Variants::List Variants::expand_ref(const Object& variant, const std::string& at, std::size_t depth) {
  if (!is_ref(variant)) return {variant};
  const std::string ref(variant.at("$ref").as_string());
  auto found = expand(resolve(root_, ref, at), ref, depth + 1);
  List all;
  for (const auto& one : found) std::ranges::move(expand_ref(one, at, depth + 1), std::back_inserter(all));
  return all;
}

Variants::List Variants::alternatives(std::string_view keyword, const Value& list, const std::string& at,
                                      std::size_t depth) {
  List all;
  bool exclusive = true;
  for (std::size_t i = 0; i < list.as_array().size(); ++i) {
    const auto here = fmt::format("{}/{}", pointer_to(at, keyword), i);
    auto some = expand(list.as_array()[i], here, depth + 1);
    if (keyword == "oneOf" && list.as_array().size() > 1) {
      List written;
      for (const auto& one : some) std::ranges::move(expand_ref(one, here, depth + 1), std::back_inserter(written));
      for (const auto& before : all) {
        for (const auto& earlier : expand_ref(before, here, depth + 1)) {
          exclusive = exclusive &&
                      std::ranges::all_of(written, [&](const Object& one) { return exclude_each_other(earlier, one); });
        }
      }
    }
    std::ranges::move(some, std::back_inserter(all));
    if (all.size() > kMaxVariants) throw SchemaFault{here, "has too many alternatives: make the schema smaller"};
  }
  if (!exclusive) report(keyword, at, "its schemas overlap, so it is treated as anyOf");
  return all;
}

// Either the property is missing, or its dependents are present.
Variants::List Variants::dependents(const std::string& name, const Value& required) {
  auto names = required.is_array() ? required.as_array() : Array();
  names.emplace_back(name);
  Array texts;
  for (const auto& one : names) {
    if (one.is_string()) texts.push_back(one);
  }
  return {Object{{"required", texts}}, Object{{"properties", Object{{name, false}}}}};
}

Variants::List Variants::cross(const List& some, const List& others, const std::string& at, std::size_t depth) {
  List all;
  for (const auto& one : some) {
    for (const auto& other : others) {
      if (one.empty() || other.empty()) {
        all.push_back(one.empty() ? other : one);
        count(all.back(), at);
        continue;
      }
      for (const auto& first : expand_ref(one, at, depth)) {
        for (const auto& second : expand_ref(other, at, depth)) {
          bool inexact = false;
          all.push_back(conjunction(first, second, inexact));
          count(all.back(), at);
          if (inexact) report("allOf", at, "its parts depend on each other");
          if (all.size() > kMaxVariants) {
            throw SchemaFault{at, "has too many alternatives: make the schema smaller"};
          }
        }
      }
    }
  }
  return all;
}

}  // namespace corral::json_schema
