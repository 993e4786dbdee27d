#include "json_schema/exclusion.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxCompared = 64;  // values that are compared one by one

const Array& list_of(const Object& schema, std::string_view name) {
  static const Array kNone;
  const auto* list = schema.if_contains(name);
  return list && list->is_array() ? list->as_array() : kNone;
}

bool has_value(const Array& list, const Value& value) {
  return std::ranges::any_of(list, [&](const Value& one) { return same(one, value); });
}

bool disjoint_types(const Object& one, const Object& other) {
  if (!one.contains("type") || !other.contains("type")) return false;
  const auto& second = list_of(other, "type");
  return std::ranges::none_of(list_of(one, "type"), [&](const Value& type) {
    if (type == "number" || type == "integer") return has_value(second, "number") || has_value(second, "integer");
    return has_value(second, type);
  });
}

bool disjoint_values(const Object& one, const Object& other) {
  if (!one.contains("enum") || !other.contains("enum")) return false;
  const auto &first = list_of(one, "enum"), &second = list_of(other, "enum");
  if (first.size() * second.size() <= kMaxCompared) {
    return std::ranges::none_of(first, [&](const Value& value) { return has_value(second, value); });
  }
  const ValueSet values(second);
  return std::ranges::none_of(first, [&](const Value& value) { return values.contains(value); });
}

// Whether the values of `one` have none of the types of `other`.
bool values_beside_types(const Object& one, const Object& other) {
  if (!one.contains("enum") || !other.contains("type")) return false;
  return std::ranges::none_of(list_of(one, "enum"), [&](const Value& value) {
    return std::ranges::any_of(list_of(other, "type"), [&](const Value& type) {
      return type.is_string() && has_type(value, type.as_string());
    });
  });
}

bool objects_only(const Object& schema, bool strict) {
  const auto* types = schema.if_contains("type");
  return types ? types->as_array() == Array{"object"} : !strict && !list_of(schema, "members").empty();
}

// The schemas of a property that its lists name.
std::vector<const Value*> schemas_of(const Object& plain, std::string_view name) {
  std::vector<const Value*> all;
  for (const auto& members : list_of(plain, "members")) {
    const auto* properties = members.as_object().if_contains("properties");
    if (const auto* own = properties ? properties->as_object().if_contains(name) : nullptr) all.push_back(own);
  }
  return all;
}

// Whether the schema says that objects lack this property.
bool forbids(const Object& plain, std::string_view name) {
  return std::ranges::any_of(list_of(plain, "members"), [&](const Value& value) {
    const auto& members = value.as_object();
    const auto* properties = members.if_contains("properties");
    if (const auto* own = properties ? properties->as_object().if_contains(name) : nullptr) return *own == Value(false);
    return is_shut(members);
  });
}

bool exclude(const Object& one, const Object& other, bool strict, int depth, std::size_t& budget);

// What distinguishes schemas of properties, without copies of their inner schemas.
Object outline(const Object& schema, std::size_t& budget) {
  Object plain;
  if (const auto* type = schema.if_contains("type")) plain["type"] = type->is_array() ? *type : Value(Array{*type});
  if (const auto* values = schema.if_contains("enum"); values && values->as_array().size() <= budget) {
    budget -= values->as_array().size();
    plain["enum"] = *values;
  }
  if (const auto* value = schema.if_contains("const")) plain["enum"] = Array{*value};
  return plain;
}

bool exclude(const Value& one, const Value& other, bool strict, std::size_t& budget) {
  if (one == Value(false) || other == Value(false)) return true;
  if (!one.is_object() || !other.is_object()) return false;
  return exclude(outline(one.as_object(), budget), outline(other.as_object(), budget), strict, 1, budget);
}

// Of a comparison: each name that one of them requires is looked up in each list of both.
std::size_t cost_of(const Object& one, const Object& other) {
  const auto names = list_of(one, "required").size() + list_of(other, "required").size();
  const auto lists = list_of(one, "members").size() + list_of(other, "members").size();
  return 1 + names * (1 + lists) + list_of(one, "enum").size() + list_of(other, "enum").size();
}

bool exclude(const Object& one, const Object& other, bool strict, int depth, std::size_t& budget) {
  const auto cost = cost_of(one, other);
  budget -= std::min(budget, cost);
  if (budget == 0) return false;
  if (one.contains("$ref") || other.contains("$ref")) return false;
  if (disjoint_types(one, other) || disjoint_values(one, other)) return true;
  if (values_beside_types(one, other) || values_beside_types(other, one)) return true;
  if (depth > 0 || !objects_only(one, strict) || !objects_only(other, strict)) return false;
  const auto misses = [&](const Object& some, const Object& needing, auto test) {
    return std::ranges::any_of(list_of(needing, "required"),
                               [&](const Value& name) { return name.is_string() && test(some, name.as_string()); });
  };
  const auto forbidden = [](const Object& plain, std::string_view name) { return forbids(plain, name); };
  const auto unlisted = [](const Object& plain, std::string_view name) { return schemas_of(plain, name).empty(); };
  if (misses(one, other, forbidden) || misses(other, one, forbidden)) return true;
  // Closed, but not by a keyword: each has only the names that it lists or requires.
  if (is_closed(one, strict) && is_closed(other, strict)) {
    const ValueSet first(list_of(one, "required")), second(list_of(other, "required"));
    const auto misses_all = [&](const ValueSet& own) {
      return [&](const Object& plain, std::string_view name) {
        return unlisted(plain, name) && !own.contains(Value(name));
      };
    };
    if (misses(one, other, misses_all(first)) && misses(other, one, misses_all(second))) return true;
  }
  // One of them needs the property, and no value of it fits both.
  const auto differs = [&](const Value& name) {
    if (!name.is_string()) return false;
    for (const auto* first : schemas_of(one, name.as_string())) {
      for (const auto* second : schemas_of(other, name.as_string())) {
        if (exclude(*first, *second, strict, budget)) return true;
      }
    }
    return false;
  };
  return std::ranges::any_of(list_of(one, "required"), differs) ||
         std::ranges::any_of(list_of(other, "required"), differs);
}

// The values that a schema lists; nothing: it lists none.
std::optional<Array> values_in(const Value& schema) {
  if (!schema.is_object()) return std::nullopt;
  if (const auto* value = schema.as_object().if_contains("const")) return Array{*value};
  const auto* values = schema.as_object().if_contains("enum");
  return values && values->is_array() ? std::optional(values->as_array()) : std::nullopt;
}

// Whether no value of a property fits all its schemas.
bool impossible(const std::vector<const Value*>& schemas) {
  std::optional<Array> left;
  const auto keep = [&](const Array& values, bool wanted) {
    const ValueSet known(values);
    left->erase(
        std::remove_if(left->begin(), left->end(), [&](const Value& one) { return known.contains(one) != wanted; }),
        left->end());
  };
  for (const auto* schema : schemas) {
    const auto values = values_in(*schema);
    if (!values) continue;
    if (left) {
      keep(*values, true);
    } else {
      left = values;
    }
  }
  if (!left) return false;
  for (const auto* schema : schemas) {
    const auto* no =
        schema->is_object() && schema->as_object().size() == 1 ? schema->as_object().if_contains("not") : nullptr;
    const auto values = no && no->is_object() && no->as_object().size() == 1 ? values_in(*no) : std::nullopt;
    if (values) keep(*values, false);
  }
  return left->empty();
}

// Whether an object can't have all that it needs. Linear in the size of the schema, since each conjunction asks.
bool misses_required(const Object& plain) {
  std::unordered_map<std::string_view, std::vector<const Value*>> needed;  // schemas, by name
  for (const auto& name : list_of(plain, "required")) {
    if (name.is_string()) needed[name.as_string()];
  }
  if (needed.empty()) return false;
  static const Object kNone;
  for (const auto& value : list_of(plain, "members")) {
    const auto& members = value.as_object();
    const auto* properties = members.if_contains("properties");
    std::size_t listed = 0;
    for (const auto& [name, schema] : properties ? properties->as_object() : kNone) {
      const auto found = needed.find(name);
      if (found == needed.end()) continue;
      if (schema == Value(false)) return true;
      found->second.push_back(&schema);
      ++listed;
    }
    if (listed < needed.size() && is_shut(members)) return true;
  }
  return std::ranges::any_of(needed, [](const auto& one) { return impossible(one.second); });
}

}  // namespace

bool is_shut(const Object& members) {
  const auto* others = members.if_contains("additionalProperties");
  return others && *others == Value(false) && !members.contains("patternProperties");
}

bool exclude_each_other(const Object& one, const Object& other, bool strict, std::size_t& budget) {
  return exclude(one, other, strict, 0, budget);
}

bool is_closed(const Object& plain, bool strict) {
  const auto& members = list_of(plain, "members");
  const auto has = [&](std::string_view keyword) {
    return std::ranges::any_of(members, [&](const Value& one) { return one.as_object().contains(keyword); });
  };
  const auto names = [](const Value& one) {
    const auto* properties = one.as_object().if_contains("properties");
    return properties && !properties->as_object().empty() && !one.as_object().contains("silent");
  };
  const bool shut = std::ranges::any_of(members, [](const Value& one) {
    const auto* others = one.as_object().if_contains("additionalProperties");
    return others && *others == Value(false);
  });
  if (shut || strict || has("additionalProperties")) return shut && !has("patternProperties");
  return !has("patternProperties") && std::ranges::any_of(members, names);
}

bool prune(Object& plain) {
  if (const auto* values = plain.if_contains("enum")) return !values->as_array().empty();
  auto* types = plain.if_contains("type");
  if (!types) return true;
  auto& list = types->as_array();
  if (has_value(list, "object") && misses_required(plain)) {
    list.erase(std::remove(list.begin(), list.end(), Value("object")), list.end());
  }
  return !list.empty();
}

}  // namespace corral::json_schema
