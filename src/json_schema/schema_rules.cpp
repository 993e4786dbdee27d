#include "json_schema/schema_rules.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "json_schema/array_rules.h"
#include "json_schema/evaluate.h"
#include "json_schema/formats.h"
#include "json_schema/number_range.h"
#include "json_schema/object_rules.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxVisits = 20'000;
constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kPlainDepth = 8;
constexpr std::size_t kMaxSpaced = 64;  // values of an enum that may have spaces between their parts

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
                    .least = bound(schema, "minimum", "exclusiveMinimum", true),
                    .most = bound(schema, "maximum", "exclusiveMaximum", false),
                    .fractional = schema.contains("fractional")};
  if (const auto* divisor = schema.if_contains("multipleOf")) range.step = Step::of(*divisor);
  if (const auto* values = schema.if_contains("excluded")) {
    for (const auto& value : values->as_array()) {
      if (value.is_number()) range.excluded.push_back(Decimal::of(value));
    }
  }
  return range;
}

// The keyword that limits the length of strings; empty: none.
std::string_view length_keyword(const Object& schema) {
  return schema.contains("maxLength") ? "maxLength" : schema.contains("minLength") ? "minLength" : "";
}
// The first keyword that restricts strings.
std::string_view pattern_keyword(const Object& schema) {
  for (const std::string_view keyword : {"pattern", "format", "not_pattern", "not_format", "excluded"}) {
    if (schema.contains(keyword)) return keyword.starts_with("not") || keyword == "excluded" ? "not" : keyword;
  }
  return length_keyword(schema);
}

}  // namespace

std::vector<std::string> types_of(const Object& schema, const std::string& at) {
  std::vector<std::string> types;
  if (const auto* given = schema.if_contains("type")) {
    for (const auto& type : given->as_array()) {
      const auto name = type.is_string() ? std::string(type.as_string()) : json::serialize(type);
      if (std::ranges::find(kTypes, name) == std::end(kTypes)) {
        throw SchemaFault{pointer_to(at, "type"), fmt::format("has the type {:.60}, which doesn't exist", name)};
      }
      types.push_back(name);
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
  return static_cast<std::size_t>(std::clamp(value->to_number<double>(), 0.0, double(Languages::kNoMost)));
}

std::string SchemaRules::make(const Value& schema, const std::string& at) {
  const auto rule = visit(schema, at);
  if (!rule) throw SchemaFault{at, "fits no value: no answer is possible"};
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
  if (++visits_ > kMaxVisits) throw SchemaFault{at, "exceeds the limit of schemas: make the schema smaller"};
  if (depth_ > kMaxDepth) throw SchemaFault{at, "is nested too deep: make the schema smaller"};
  ++depth_;
  std::vector<std::string> rules;
  for (const auto& variant : variants_.of(schema, at)) {
    const auto* ref = variant.if_contains("$ref");
    auto rule = ref                    ? visit_ref(std::string(ref->as_string()), at)
                : depth_ > kPlainDepth ? visit_known(variant, at)
                                       : visit_variant(variant, at);
    if (rule && std::ranges::find(rules, *rule) == rules.end()) rules.push_back(std::move(*rule));
  }
  --depth_;
  return either(rules);
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
  if (type == "string") return string(schema, at);
  if (type == "number" || type == "integer") return number(schema, at, type == "integer");
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
    report(value.is_string() ? pattern_keyword(schema) : "enum", at, "the pattern is too complex");
  } catch (const UnsupportedPattern&) {  // reported already
  }
  return true;
}

std::optional<Language> SchemaRules::patterns_of(const Object& schema, const std::string& at) {
  std::optional<Language> all;
  const auto add = [&](std::string_view keyword, std::string_view pattern) {
    try {
      const auto one = pattern_language(languages_, pattern);
      all = all ? languages_.both(*all, one) : one;
    } catch (const UnsupportedPattern&) {  // reported already
    } catch (const TooComplex&) {
      report(keyword, at, "the pattern is too complex");
    }
  };
  if (const auto* patterns = schema.if_contains("pattern")) {
    for (const auto& pattern : patterns->as_array()) add("pattern", pattern.as_string());
  }
  if (const auto* formats = schema.if_contains("format")) {
    for (const auto& format : formats->as_array()) {
      if (const auto pattern = format_pattern(format.as_string()); pattern && !pattern->empty())
        add("format", *pattern);
    }
  }
  for (const std::string_view keyword : {"not_pattern", "not_format", "excluded"}) {
    if (const auto* list = schema.if_contains(keyword)) all = without(all, keyword, list->as_array(), at);
  }
  return all;
}

// Strings that negations leave.
std::optional<Language> SchemaRules::without(std::optional<Language> all, std::string_view keyword,
                                             const Array& excluded, const std::string& at) {
  for (const auto& one : excluded) {
    if (!one.is_string()) continue;
    try {
      const auto pattern =
          keyword == "not_format" ? format_pattern(one.as_string()) : std::string_view(one.as_string());
      if (!pattern) continue;
      const auto other = languages_.complement(keyword == "excluded" ? languages_.text(characters_of(*pattern))
                                                                     : pattern_language(languages_, *pattern));
      all = all ? languages_.both(*all, other) : other;
    } catch (const UnsupportedPattern&) {
      report("not", at, "its pattern can't be enforced");
    } catch (const TooComplex&) {
      report("not", at, "its pattern is too complex");
    }
  }
  return all;
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
    const auto texts = strings_of(variant, at);
    if (!texts) return std::nullopt;
    all.push_back(*texts);
  }
  return languages_.either(std::move(all));
}

// Throws TooComplex.
Language SchemaRules::lengths_of(const Object& schema) {
  const auto least = count_of(schema, "minLength", 0), most = count_of(schema, "maxLength", Languages::kNoMost);
  if (least > most) return languages_.none();
  return languages_.repeat(languages_.set(CharSet::all()), static_cast<std::uint32_t>(least),
                           static_cast<std::uint32_t>(most));
}

std::optional<Language> SchemaRules::strings_of(const Object& schema, const std::string& at) {
  const auto texts = patterns_of(schema, at);
  const auto keyword = length_keyword(schema);
  if (keyword.empty()) return texts;
  try {
    const auto lengths = lengths_of(schema);
    return texts ? languages_.both(*texts, lengths) : lengths;
  } catch (const TooComplex&) {
    report(keyword, at, "it is too complex");
    return texts;
  }
}

SchemaRules::Rule SchemaRules::string(const Object& schema, const std::string& at) {
  auto made = string_rule(schema, at);
  if (made || !schema.contains("pattern") || !schema.contains("format")) return made;
  // Zod writes patterns for times without a zone beside "time", which has one.
  auto rest = schema;
  rest.erase("format");
  made = string_rule(rest, at);
  if (made) report("format", at, "it contradicts the pattern", true);
  return made;
}

SchemaRules::Rule SchemaRules::string_rule(const Object& schema, const std::string& at) {
  const auto least = count_of(schema, "minLength", 0), most = count_of(schema, "maxLength", Languages::kNoMost);
  if (least > most) return std::nullopt;
  const auto lengths = length_keyword(schema);
  if (const auto texts = patterns_of(schema, at)) {
    if (!lengths.empty()) {
      try {
        return language_rules_.strings(*texts, least, most);
      } catch (const TooComplex&) {
        report(lengths, at, "together with its pattern it is too complex");
      }
    }
    try {
      return language_rules_.strings(*texts);
    } catch (const TooComplex&) {
      report(pattern_keyword(schema), at, "the pattern is too complex");
    }
  }
  if (lengths.empty()) return text_.builtin("string");
  return text_.rule(fmt::format(R"("\"" {} "\"")", text_.repeat(text_.builtin("char"), least, most)));
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
  Array all;
  for (const auto& variant : variants_.written_out(schema, at)) {
    const auto* values = variant.if_contains("enum");
    if (!values && variant.if_contains("type") && variant.at("type") == Value(Array{"boolean"})) {
      static const Value kFlags = Array{true, false};
      values = &kFlags;
    }
    if (!values) return std::nullopt;
    for (const auto& value : values->as_array()) {
      if (std::ranges::none_of(all, [&](const Value& one) { return same(one, value); })) all.push_back(value);
    }
  }
  return all;
}

SchemaRules::Rule SchemaRules::number(const Object& schema, const std::string& at, bool integer) {
  const auto range = range_of(schema, integer);
  const auto* type = range.integer ? "integer" : "number";
  if (integer && range.fractional) return std::nullopt;
  if (range.unbounded()) return text_.builtin(type);
  try {
    return language_rules_.plain(number_language(languages_, range));
  } catch (const TooComplex&) {
    for (const auto keyword : topics()[3].keywords) {
      if (schema.contains(keyword)) report(keyword, at, "the number is too large or too exact");
    }
    return text_.builtin(type);
  }
}

}  // namespace corral::json_schema
