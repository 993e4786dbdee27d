#include "json_schema/evaluate.h"

#include <algorithm>

#include "json_schema/decimal.h"
#include "json_schema/formats.h"
#include "json_schema/pattern.h"
#include "json_schema/pointers.h"
#include "json_schema/text.h"
#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxComparisons = 1'000'000;
constexpr std::size_t kBytes = 16;  // that cost as much as a step
constexpr std::size_t kMaxInside = 100;
constexpr std::size_t kMaxUnique = 100;

Array each_of(const Value& value) { return value.is_array() ? value.as_array() : Array{value}; }

struct Inside {
  explicit Inside(std::size_t& depth) : depth_(++depth) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --depth_; }
  std::size_t& depth_;
};

double limit_of(const Object& schema, std::string_view name, double otherwise) {
  const auto* value = schema.if_contains(name);
  return value && value->is_number() ? value->to_number<double>() : otherwise;
}
bool number_at(const Object& schema, std::string_view name) {
  const auto* value = schema.if_contains(name);
  return value && value->is_number();
}
bool within(const Object& schema, std::string_view min, std::string_view max, std::size_t have) {
  return double(have) >= limit_of(schema, min, 0) && double(have) <= limit_of(schema, max, double(have));
}

}  // namespace

bool Evaluator::fits(const Value& schema, const Value& value) {
  if (schema.is_bool()) return schema.as_bool();
  return !schema.is_object() || fits_whole(schema.as_object(), value);
}

bool Evaluator::fits_whole(const Object& schema, const Value& value) {
  if (depth_ > kMaxInside) throw TooComplex();
  const Inside inside(depth_);
  return fits_assertions(schema, value, false) && fits_combinators(schema, value);
}

bool Evaluator::fits_plain(const Object& plain, const Value& value) { return fits_assertions(plain, value, true); }

// Schemas are read in place, because copies would cost too much.
bool Evaluator::fits_assertions(const Object& schema, const Value& value, bool plain) {
  if (++steps_ > kMaxComparisons) throw TooComplex();
  languages_.spend(1);
  const auto any = [&](std::string_view name, auto fitting) {
    const auto* list = schema.if_contains(name);
    if (!list) return false;
    return list->is_array() ? std::ranges::any_of(list->as_array(), fitting) : fitting(*list);
  };
  const auto equals = [&](const Value& one) {
    languages_.spend(1 + size_of(one) / kBytes);
    return same(one, value);
  };
  const auto typed = [&](const Value& type) { return type.is_string() && has_type(value, type.as_string()); };
  if (schema.contains("type") && !any("type", typed)) return false;
  if ((!plain && schema.contains("enum") && !any("enum", equals)) || (plain && any("excluded", equals))) return false;
  if (const auto* only = schema.if_contains("const"); only && !equals(*only)) return false;
  if (value.is_object()) return fits_object(schema, value.as_object(), plain);
  if (value.is_array()) return fits_array(schema, value.as_array(), plain);
  if (value.is_string()) return fits_string(schema, value.as_string());
  return !value.is_number() || fits_number(schema, value);
}

bool Evaluator::fits_combinators(const Object& schema, const Value& value) {
  const auto matches = [&](const Value& one) { return fits(one, value); };
  if (const auto* ref = schema.if_contains("$ref")) {
    if (!fits(resolve(root_, ref->as_string(), "#"), value)) return false;
  }
  if (const auto* all = schema.if_contains("allOf"); all && !std::ranges::all_of(all->as_array(), matches))
    return false;
  if (const auto* any = schema.if_contains("anyOf"); any && !std::ranges::any_of(any->as_array(), matches))
    return false;
  if (const auto* one = schema.if_contains("oneOf"); one && std::ranges::count_if(one->as_array(), matches) != 1) {
    return false;
  }
  if (const auto* no = schema.if_contains("not"); no && fits(*no, value)) return false;
  if (const auto* condition = schema.if_contains("if")) {
    const auto* then = schema.if_contains(fits(*condition, value) ? "then" : "else");
    if (then && !fits(*then, value)) return false;
  }
  for (const auto* keyword : {"unevaluatedProperties", "unevaluatedItems"}) {
    const auto* inner = schema.if_contains(keyword);
    if (inner && *inner != Value(true) && (value.is_object() || value.is_array())) throw NotEvaluated{keyword};
  }
  if (!value.is_object()) return true;
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const auto* all = schema.if_contains(keyword);
    if (!all || !all->is_object()) continue;
    for (const auto& [name, dependent] : all->as_object()) {
      if (!value.as_object().contains(name)) continue;
      if (!dependent.is_array() && !fits(dependent, value)) return false;
      for (const auto& one : dependent.is_array() ? dependent.as_array() : Array()) {
        if (one.is_string() && !value.as_object().contains(one.as_string())) return false;
      }
    }
  }
  return true;
}

bool Evaluator::fits_object(const Object& schema, const Object& value, bool plain) {
  if (!within(schema, "minProperties", "maxProperties", value.size())) return false;
  if (const auto* names = schema.if_contains("required")) {
    for (const auto& name : names->as_array()) {
      if (name.is_string() && !value.contains(name.as_string())) return false;
    }
  }
  if (const auto* names = schema.if_contains("propertyNames")) {
    for (const auto& member : value) {
      if (!fits(*names, Value(member.key()))) return false;
    }
  }
  if (!plain) return fits_members(schema, value);
  const auto* members = schema.if_contains("members");
  return !members || std::ranges::all_of(members->as_array(),
                                         [&](const Value& one) { return fits_members(one.as_object(), value); });
}

bool Evaluator::fits_members(const Object& members, const Object& value) {
  const auto* properties = members.if_contains("properties");
  const auto* patterns = members.if_contains("patternProperties");
  const auto* others = members.if_contains("additionalProperties");
  for (const auto& [name, inner] : value) {
    bool named = false;
    if (const auto* own = properties ? properties->as_object().if_contains(name) : nullptr) {
      named = true;
      if (!fits(*own, inner)) return false;
    }
    static const Object kNoPatterns;
    for (const auto& [pattern, schema] : patterns ? patterns->as_object() : kNoPatterns) {
      if (!languages_.contains(pattern_language(languages_, pattern), characters_of(name))) continue;
      named = true;
      if (!fits(schema, inner)) return false;
    }
    if (!named && others && !fits(*others, inner)) return false;
  }
  return true;
}

bool Evaluator::fits_array(const Object& schema, const Array& value, bool plain) {
  if (!within(schema, "minItems", "maxItems", value.size())) return false;
  const auto *first = schema.if_contains("prefixItems"), *items = schema.if_contains("items");
  if (items && items->is_array()) {  // before 2020-12
    first = items;
    items = schema.if_contains("additionalItems");
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool named = first && i < first->as_array().size();
    if (named && !fits(first->as_array()[i], value[i])) return false;
    if (!named && items && !fits(*items, value[i])) return false;
  }
  if (const auto* unique = schema.if_contains("uniqueItems"); unique && *unique == Value(true)) {
    if (value.size() > kMaxUnique) throw NotEvaluated{"uniqueItems"};
    for (std::size_t i = 0; i < value.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        languages_.spend(1 + size_of(value[j]) / kBytes);
        if (same(value[i], value[j])) return false;
      }
    }
  }
  const auto* contains = schema.if_contains("contains");
  if (!contains) return true;
  if (!plain) return fits_contains(*contains, schema, value);
  return std::ranges::all_of(contains->as_array(),
                             [&](const Value& one) { return fits_contains(one.at("schema"), one.as_object(), value); });
}

bool Evaluator::fits_contains(const Value& wanted, const Object& limits, const Array& value) {
  const auto found = std::ranges::count_if(value, [&](const Value& one) { return fits(wanted, one); });
  return double(found) >= limit_of(limits, "minContains", 1) &&
         double(found) <= limit_of(limits, "maxContains", double(found));
}

bool Evaluator::fits_string(const Object& schema, std::string_view value) {
  languages_.spend(value.size() / kBytes);
  const auto text = characters_of(value);
  if (!within(schema, "minLength", "maxLength", text.size())) return false;
  const auto matches = [&](std::string_view pattern) {
    return pattern.empty() || languages_.contains(pattern_language(languages_, pattern), text);
  };
  for (const bool wanted : {true, false}) {
    if (const auto* patterns = schema.if_contains(wanted ? "pattern" : "not_pattern")) {
      for (const auto& one : each_of(*patterns)) {
        if (matches(one.as_string()) != wanted) return false;
      }
    }
    if (const auto* formats = schema.if_contains(wanted ? "format" : "not_format")) {
      for (const auto& one : each_of(*formats)) {
        const auto pattern = format_pattern(one.as_string());
        if (pattern && matches(*pattern) != wanted) return false;
      }
    }
  }
  return true;
}

bool Evaluator::fits_number(const Object& schema, const Value& value) {
  const auto own = value.to_number<double>();
  // Draft 4 has a boolean next to the bound.
  const auto excludes = [&](std::string_view name) {
    const auto* flag = schema.if_contains(name);
    return flag && *flag == Value(true);
  };
  const auto min = limit_of(schema, "minimum", own), max = limit_of(schema, "maximum", own);
  if (own < min || (own == min && excludes("exclusiveMinimum") && schema.contains("minimum"))) return false;
  if (own > max || (own == max && excludes("exclusiveMaximum") && schema.contains("maximum"))) return false;
  if (own <= limit_of(schema, "exclusiveMinimum", own - 1) && number_at(schema, "exclusiveMinimum")) return false;
  if (own >= limit_of(schema, "exclusiveMaximum", own + 1) && number_at(schema, "exclusiveMaximum")) return false;
  if (schema.contains("fractional") && is_integer(value)) return false;
  const auto* divisor = schema.if_contains("multipleOf");
  if (!divisor || divisor->to_number<double>() <= 0) return true;
  const auto multiple = is_multiple(Decimal::of(value), Decimal::of(*divisor));
  if (!multiple) throw NotEvaluated{"multipleOf"};
  return *multiple;
}

}  // namespace corral::json_schema
