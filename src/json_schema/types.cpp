#include "json_schema/types.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "json_schema/keywords.h"
#include "json_schema/language.h"
#include "json_schema/pointers.h"

namespace corral::json_schema {
namespace {

using json::Object;

constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};

// A schema without a type applies to the types of its keywords.
struct Topic {
  std::string_view type;
  std::vector<std::string_view> keywords;
};
const std::vector<Topic>& topics() {
  static const std::vector<Topic> all{
      {"object",
       {"properties", "required", "minProperties", "maxProperties", "patternProperties", "additionalProperties",
        "propertyNames", "unevaluatedProperties", "members"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"}},
      {"string", {"pattern", "format", "minLength", "maxLength"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
  };
  return all;
}

}  // namespace

std::vector<std::string> types_of(const Object& schema, const std::string& at) {
  std::vector<std::string> types;
  if (const auto* given = schema.if_contains("type")) {
    for (const auto& type : given->as_array()) {
      const auto name = type.is_string() ? std::string(type.as_string()) : json::serialize(type);
      if (std::ranges::find(kTypes, name) == std::end(kTypes)) {
        throw SchemaFault{pointer_to(at, "type"), fmt::format("must be one of {}, or a list of them, not {:.60}",
                                                              fmt::join(kTypes, ", "), name)};
      }
      if (std::ranges::find(types, name) == types.end()) types.push_back(name);
    }
    if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
    return types;
  }
  for (const auto& [type, keywords] : topics()) {
    if (std::ranges::any_of(keywords, [&](auto keyword) { return schema.contains(keyword); })) types.emplace_back(type);
  }
  return types;
}

std::size_t count_of(const Object& schema, std::string_view name, std::size_t otherwise) {
  const auto* value = schema.if_contains(name);
  if (!value || !value->is_number()) return otherwise;
  return static_cast<std::size_t>(std::clamp(value->to_number<double>(), 0.0, double(Languages::kUnbounded)));
}

}  // namespace corral::json_schema
