#include "json_schema/schema_rules.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "json_schema/array_rules.h"
#include "json_schema/evaluate.h"
#include "json_schema/number_rules.h"
#include "json_schema/object_rules.h"
#include "json_schema/pattern.h"
#include "json_schema/pointers.h"
#include "json_schema/string_rules.h"
#include "json_schema/text.h"
#include "json_schema/types.h"
#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxVisits = 20'000;
constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kPlainDepth = 8;
constexpr std::size_t kMaxSpaced = 64;  // values of an enum that may have spaces between their parts

}  // namespace

std::string SchemaRules::make(const Value& schema, const std::string& at) {
  const auto rule = visit(schema, at);
  if (!rule && variants_.narrowed() > 0) {
    throw SchemaFault{at, "fits no value that a grammar can express: simplify its not, oneOf, if and unevaluatedItems"};
  }
  if (!rule) throw SchemaFault{at, "fits no value: remove what contradicts each other in it"};
  return text_.rule(*rule);
}

void SchemaRules::report(std::string_view keyword, const std::string& at, std::string reason, bool annotation) {
  Unenforced one{std::string(keyword), pointer_to(at, keyword), std::move(reason), annotation};
  if (std::ranges::find(unenforced_, one) == unenforced_.end()) unenforced_.push_back(std::move(one));
}

SchemaRules::Rule SchemaRules::either(const std::vector<std::string>& rules) {
  if (rules.empty()) return std::nullopt;
  if (rules.size() == 1) return rules.front();
  return text_.rule(fmt::format("{}", fmt::join(rules, " | ")));
}

SchemaRules::Rule SchemaRules::visit(const Value& schema, const std::string& at) {
  if (++visits_ > kMaxVisits)
    throw SchemaFault{at, fmt::format("has more than {} schemas, counted at each use: use fewer", kMaxVisits)};
  if (depth_ > kMaxDepth)
    throw SchemaFault{at, fmt::format("has more than {} schemas inside each other: make it flatter", kMaxDepth)};
  ++depth_;
  std::vector<std::string> rules;
  try {
    for (const auto& variant : variants_.of(schema, at)) {
      const auto* ref = variant.if_contains("$ref");
      auto rule = ref                    ? visit_ref(std::string(ref->as_string()), at)
                  : depth_ > kPlainDepth ? visit_known(variant, at)
                                         : visit_variant(variant, at);
      if (rule && std::ranges::find(rules, *rule) == rules.end()) rules.push_back(std::move(*rule));
    }
    --depth_;
    return either(rules);
  } catch (const GrammarTooLarge&) {
    throw SchemaFault{at, "makes the grammar too large: use fewer or shorter values and names"};
  }
}

// A schema next to its own "$ref" recurs and would be expanded each time.
SchemaRules::Rule SchemaRules::visit_known(const Object& variant, const std::string& at) {
  const auto name = text_.reserve();
  const auto [known, fresh] = known_.emplace(json::serialize(variant), name);
  if (!fresh) return known->second;
  const auto rule = visit_variant(variant, at);
  text_.define(name, rule ? *rule : R"("\x00")");
  if (!rule) known->second = std::nullopt;
  return known->second;
}

SchemaRules::Rule SchemaRules::visit_inside(const Value& schema, const std::string& at) {
  std::set<std::string, std::less<>> around;
  around.swap(open_refs_);
  auto rule = visit(schema, at);
  around.swap(open_refs_);
  return rule;
}

SchemaRules::Rule SchemaRules::visit_ref(const std::string& ref, const std::string& at) {
  if (open_refs_.contains(ref)) return std::nullopt;  // "a value of this schema, or ..." adds nothing to itself
  if (const auto known = refs_.find(ref); known != refs_.end()) return known->second;
  const auto name = text_.reserve();
  refs_.emplace(ref, name);
  open_refs_.insert(ref);
  const auto rule = visit(resolve(root_, ref, at), ref);
  open_refs_.erase(ref);
  text_.define(name, rule ? *rule : R"("\x00")");
  if (!rule) refs_[ref] = std::nullopt;
  return rule ? Rule(name) : std::nullopt;
}

SchemaRules::Rule SchemaRules::visit_variant(const Object& schema, const std::string& at) {
  if (schema.contains("enum")) return values(schema, at);
  auto types = types_of(schema, at);
  if (!schema.contains("type")) {
    const bool free = std::ranges::all_of(schema, [](const auto& one) { return one.key() == "negated"; });
    if (free || (types.empty() && !schema.contains("excluded"))) return text_.builtin("value");
    // A keyword restricts values of its type only; without `strict` it also stands for the type.
    if (strict_ || types.empty()) types = {"object", "array", "string", "number", "boolean", "null"};
  }
  std::vector<std::string> rules;
  for (const auto& type : types) {
    if (auto rule = visit_type(type, schema, at)) rules.push_back(std::move(*rule));
  }
  return either(rules);
}

SchemaRules::Rule SchemaRules::visit_type(std::string_view type, const Object& schema, const std::string& at) {
  if (type == "object") return object_rule(*this, schema, at);
  if (type == "array") return array_rule(*this, schema, at);
  if (type == "string") return string_rule(*this, schema, at);
  if (type == "number" || type == "integer") return number_rule(*this, schema, at, type == "integer");
  const auto* excluded = schema.if_contains("excluded");
  const auto has = [&](const Value& value) {
    return excluded && std::ranges::find(excluded->as_array(), value) != excluded->as_array().end();
  };
  if (type == "null") return has(nullptr) ? Rule() : Rule(text_.builtin(type));
  if (has(true)) return has(false) ? Rule() : Rule("\"false\"");
  return has(false) ? Rule("\"true\"") : Rule(text_.builtin(type));
}

SchemaRules::Rule SchemaRules::values(const Object& schema, const std::string& at) {
  std::vector<std::string> rules;
  for (const auto& value : schema.at("enum").as_array()) {
    if (!fits(schema, value, at)) continue;
    // Spaces in many values would be too many parses.
    const bool spaces = schema.at("enum").as_array().size() <= kMaxSpaced;
    rules.push_back(spaces ? constant(value) : literal(json::serialize(value)));
  }
  return either(rules);
}

// Spaces are free in it.
std::string SchemaRules::constant(const Value& value) {
  const bool object = value.is_object();
  if (!object && !value.is_array()) return literal(json::serialize(value));
  const auto space = text_.builtin("space");
  std::vector<std::string> parts;
  if (object) {
    for (const auto& [name, inner] : value.as_object()) {
      parts.push_back(
          fmt::format(R"({} {} ":" {} {})", literal(json::serialize(Value(name))), space, space, constant(inner)));
    }
  } else {
    for (const auto& inner : value.as_array()) parts.push_back(constant(inner));
  }
  const auto all = fmt::format("{}", fmt::join(parts, fmt::format(R"( "," {} )", space)));
  return text_.rule(fmt::format(R"("{}" {} {} {} "{}")", object ? "{" : "[", space, all, space, object ? "}" : "]"));
}

bool SchemaRules::fits(const Object& schema, const Value& value, const std::string& at) {
  try {
    return schema.size() == 1 || evaluator_.fits_plain(schema, value);
  } catch (const NotEvaluated& fault) {
    report(fault.keyword, at, "it is combined with enum or const");
  } catch (const TooComplex&) {
    const auto keyword = value.is_string() ? pattern_keyword(schema) : "";
    report(keyword.empty() ? "enum" : keyword, at, "a comparison with its values is too complex");
  } catch (const UnsupportedPattern&) {  // reported already
  }
  return true;
}

std::optional<Language> SchemaRules::names_of(const Value& schema, const std::string& at) {
  if (schema == Value(true)) return std::nullopt;
  std::vector<Language> all;
  for (const auto& variant : variants_.written_out(schema, at)) {
    if (const auto* types = variant.if_contains("type")) {
      if (std::ranges::find(types->as_array(), Value("string")) == types->as_array().end()) continue;
    }
    if (const auto* values = variant.if_contains("enum")) {
      for (const auto& value : values->as_array()) {
        if (value.is_string() && fits(variant, value, at))
          all.push_back(languages_.text(characters_of(value.as_string())));
      }
      continue;
    }
    const auto texts = strings_of(*this, variant, at);
    if (!texts) return std::nullopt;
    all.push_back(*texts);
  }
  return languages_.either(std::move(all));
}

bool SchemaRules::expands(const Value& schema, const std::string& at) {
  try {
    variants_.of(schema, at);
    return true;
  } catch (const SchemaFault&) {
    return false;
  }
}

std::optional<Array> SchemaRules::listed_values(const Value& schema, const std::string& at) {
  static const Array kFlags = {true, false};
  const auto variants = variants_.written_out(schema, at);
  ValueSet known;
  Array all;
  for (const auto& variant : variants) {
    const auto* given = variant.if_contains("enum");
    const auto* type = variant.if_contains("type");
    if (!given && (!type || *type != Array{"boolean"})) return std::nullopt;
    for (const auto& value : given ? given->as_array() : kFlags) {
      if (fits(variant, value, at) && known.insert(value)) all.push_back(value);
    }
  }
  return all;
}

}  // namespace corral::json_schema
