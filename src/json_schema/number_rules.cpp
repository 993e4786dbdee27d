#include "json_schema/number_rules.h"

#include <optional>
#include <string_view>

#include "json_schema/number_range.h"

namespace corral::json_schema {
namespace {

using json::Object;

constexpr std::string_view kNumberKeywords[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                                "multipleOf"};

std::optional<Bound> bound(const Object& schema, std::string_view inclusive, std::string_view exclusive,
                           bool is_least) {
  std::optional<Bound> made;
  if (const auto* value = schema.if_contains(inclusive)) made = Bound{Decimal::of(*value), false};
  if (const auto* value = schema.if_contains(exclusive); value && value->is_number()) {
    const auto* other = schema.if_contains(inclusive);
    const auto ours = value->to_number<double>();
    const bool looser = other && (is_least ? other->to_number<double>() > ours : other->to_number<double>() < ours);
    if (!looser) made = Bound{Decimal::of(*value), true};
  }
  return made;
}

NumberRange range_of(const Object& schema, bool integer) {
  NumberRange range{.integer = integer,
                    .min = bound(schema, "minimum", "exclusiveMinimum", true),
                    .max = bound(schema, "maximum", "exclusiveMaximum", false),
                    .fractional = schema.contains("fractional")};
  if (const auto* divisor = schema.if_contains("multipleOf")) range.step = Step::of(*divisor);
  if (const auto* values = schema.if_contains("excluded")) {
    for (const auto& value : values->as_array()) {
      if (value.is_number()) range.excluded.push_back(Decimal::of(value));
    }
  }
  return range;
}

}  // namespace

SchemaRules::Rule number_rule(SchemaRules& rules, const Object& schema, const std::string& at, bool integer) {
  const auto range = range_of(schema, integer);
  // That of several multipleOf may have more digits than theirs.
  if (schema.contains("multipleOf") && !range.step) rules.report("multipleOf", at, "it has too many digits");
  const auto* type = range.integer ? "integer" : "number";
  if (integer && range.fractional) return std::nullopt;
  if (range.unbounded()) return rules.grammar().builtin(type);
  try {
    return rules.language_rules().plain(number_language(rules.languages(), range));
  } catch (const TooComplex&) {
    for (const auto keyword : kNumberKeywords) {
      if (schema.contains(keyword)) rules.report(keyword, at, "the number is too large or too exact");
    }
    if (schema.contains("negated")) rules.report("not", at, "it excludes too many numbers");
    return rules.grammar().builtin(type);
  }
}

}  // namespace corral::json_schema
