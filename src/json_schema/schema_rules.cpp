#include "json_schema/schema_rules.h"

#include <algorithm>

#include <fmt/ranges.h>

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
        "propertyNames", "unevaluatedProperties"}},
      {"array", {"items", "prefixItems", "minItems", "maxItems"}},
      {"string", {"pattern", "format", "minLength", "maxLength"}},
      {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
  };
  return all;
}

bool is_integer(const Value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && value.as_double() == static_cast<double>(static_cast<std::int64_t>(
                                                        std::clamp(value.as_double(), -9e15, 9e15))));
}

bool has_type(const Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return is_integer(value);
  return type == "boolean" ? value.is_bool() : value.is_null();
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
                    .most = bound(schema, "maximum", "exclusiveMaximum", false)};
  if (const auto* divisor = schema.if_contains("multipleOf")) {
    const auto value = divisor->to_number<double>();
    if (value >= 1 && value <= 2000 && value == static_cast<std::uint32_t>(value)) {
      range.multiple_of = static_cast<std::uint32_t>(value);
      range.integer = integer || range.multiple_of == 1;
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
  return schema.contains("pattern") ? "pattern" : schema.contains("format") ? "format" : length_keyword(schema);
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

void SchemaRules::report(std::string_view keyword, const std::string& at, std::string reason) {
  Unenforced one{std::string(keyword), pointer_to(at, keyword), std::move(reason)};
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
  const auto types = types_of(schema, at);
  if (types.empty()) return schema.contains("type") ? std::nullopt : Rule(text_.builtin("value"));
  std::vector<std::string> rules;
  for (const auto& type : types) {
    if (auto rule = visit_type(type, schema, at)) rules.push_back(std::move(*rule));
  }
  return either(rules);
}

SchemaRules::Rule SchemaRules::visit_type(std::string_view type, const Object& schema, const std::string& at) {
  if (type == "object") return object_rule(*this, schema, at);
  if (type == "array") return array(schema, at);
  if (type == "string") return string(schema, at);
  if (type == "number" || type == "integer") return number(schema, at, type == "integer");
  return text_.builtin(type);
}

SchemaRules::Rule SchemaRules::values(const Object& schema, const std::string& at) {
  std::vector<std::string> rules;
  for (const auto& value : schema.at("enum").as_array()) {
    if (fits(schema, value, at)) rules.push_back(literal(json::serialize(value)));
  }
  return either(rules);
}

// For a constant. Keywords about parts of objects and arrays are ignored.
bool SchemaRules::fits(const Object& schema, const Value& value, const std::string& at) {
  if (schema.contains("type")) {
    const auto names = types_of(schema, at);
    if (std::ranges::none_of(names, [&](const auto& type) { return has_type(value, type); })) return false;
  }
  if (value.is_string()) {
    const auto texts = strings_of(schema, at);
    try {
      return !texts || languages_.contains(*texts, characters_of(value.as_string()));
    } catch (const TooComplex&) {
      report(pattern_keyword(schema), at, "the pattern is too complex");
      return true;
    }
  }
  if (value.is_number()) {
    const auto range = range_of(schema, false);
    if (range.unbounded()) return true;
    const auto number = value.to_number<double>();
    if (range.multiple_of != 1 && !is_integer(value)) return false;
    if (range.multiple_of != 1 && static_cast<std::int64_t>(number) % range.multiple_of != 0) return false;
    const auto limit = [&](std::string_view name) {
      return schema.contains(name) ? schema.at(name).to_number<double>() : number;
    };
    if (number < limit("minimum") || number > limit("maximum")) return false;
    return !(schema.contains("exclusiveMinimum") && number <= limit("exclusiveMinimum")) &&
           !(schema.contains("exclusiveMaximum") && number >= limit("exclusiveMaximum"));
  }
  if (value.is_object() || value.is_array()) {
    for (const auto keyword : topics()[value.is_object() ? 0 : 1].keywords) {
      if (schema.contains(keyword)) report(keyword, at, "it is combined with enum or const");
    }
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
  return all;
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
  const auto least = count_of(schema, "minLength", 0), most = count_of(schema, "maxLength", Languages::kNoMost);
  if (least > most) return std::nullopt;
  const auto lengths = length_keyword(schema);
  if (const auto texts = patterns_of(schema, at)) {
    if (!lengths.empty()) {
      try {
        return language_rules_.strings(languages_.both(*texts, lengths_of(schema)));
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

SchemaRules::Rule SchemaRules::number(const Object& schema, const std::string& at, bool integer) {
  const auto range = range_of(schema, integer);
  const auto* type = range.integer ? "integer" : "number";
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

SchemaRules::Rule SchemaRules::array(const Object& schema, const std::string& at) {
  static const Array kNoItems;
  const auto* first = schema.if_contains("prefixItems");
  const auto& prefix = first ? first->as_array() : kNoItems;
  const auto* items = schema.if_contains("items");
  const auto least = count_of(schema, "minItems", 0), most = count_of(schema, "maxItems", Languages::kNoMost);
  if (least > most) return std::nullopt;
  if (!first && !items && least == 0 && most == Languages::kNoMost) return text_.builtin("array");

  const auto space = text_.builtin("space");
  const auto separator = fmt::format(R"("," {})", space);
  std::vector<std::string> parts;
  bool complete = true;
  for (std::size_t i = 0; i < std::min(prefix.size(), most); ++i) {
    const auto rule = visit_inside(prefix[i], fmt::format("{}/{}", pointer_to(at, "prefixItems"), i));
    if (!rule) complete = false;
    if (!rule) break;
    parts.push_back(*rule);
  }
  if (parts.size() < least && !complete) return std::nullopt;
  // A list of first items has no others unless the schema permits or requires them.
  const bool open = complete && (!first || items || least > parts.size());
  Rule item;
  if (open && most > parts.size()) item = visit_inside(items ? *items : Value(true), pointer_to(at, "items"));
  if (!item && least > parts.size()) return std::nullopt;
  auto body = fmt::format("{}", fmt::join(parts, " " + separator + " "));
  if (item) {
    const auto more_least = least - std::min(least, parts.size());
    const auto more_most = most == Languages::kNoMost ? most : most - parts.size();
    const auto follow = text_.rule(separator + " " + *item);
    if (!parts.empty()) {
      body += " " + text_.repeat(follow, more_least, more_most);
    } else {
      const auto rest = text_.repeat(follow, more_least == 0 ? 0 : more_least - 1,
                                     more_most == Languages::kNoMost ? more_most : more_most - 1);
      body = more_least == 0 ? fmt::format("({} {})?", *item, rest) : fmt::format("{} {}", *item, rest);
    }
  }
  return text_.rule(fmt::format(R"("[" {} {} {} "]")", space, body, space));
}

}  // namespace corral::json_schema
