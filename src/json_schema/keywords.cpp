#include "json_schema/keywords.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "json_schema/automaton.h"
#include "json_schema/formats.h"
#include "json_schema/pattern.h"
#include "json_schema/pattern_parser.h"

namespace corral::json_schema {
namespace {

using json::Object;
using json::Value;

constexpr int kMaxLeast = 1'000'000;

enum class Effect {
  enforced,
  parts,   // enforced; each member of its object is a schema
  schema,  // enforced; a schema, or a list of them
  annotation,
  refused,
};
enum class Takes { anything, text, count, number, flag, list, object, schema, names };

struct Keyword {
  std::string_view name;
  Effect effect = Effect::refused;
  Takes takes = Takes::anything;
};
constexpr Keyword kKeywords[] = {
    // Types and values.
    {"type", Effect::enforced},
    {"enum", Effect::enforced, Takes::list},
    {"const", Effect::enforced},
    {"$ref", Effect::enforced, Takes::text},
    {"anyOf", Effect::schema, Takes::list},
    {"oneOf", Effect::schema, Takes::list},  // as far as its schemas exclude each other
    {"allOf", Effect::schema, Takes::list},
    {"not"},
    {"if"},
    {"then"},
    {"else"},
    {"$dynamicRef"},
    {"$recursiveRef"},
    // Strings.
    {"minLength", Effect::enforced, Takes::count},
    {"maxLength", Effect::enforced, Takes::count},
    {"pattern", Effect::enforced, Takes::text},
    {"format", Effect::enforced, Takes::text},  // those of formats.h
    // Numbers.
    {"minimum", Effect::enforced, Takes::number},
    {"maximum", Effect::enforced, Takes::number},
    {"exclusiveMinimum", Effect::enforced},  // draft 4 has a boolean next to `minimum`
    {"exclusiveMaximum", Effect::enforced},
    {"multipleOf", Effect::enforced, Takes::number},  // whole numbers up to 2000
    // Objects.
    {"properties", Effect::parts, Takes::object},
    {"patternProperties", Effect::parts, Takes::object},
    {"additionalProperties", Effect::schema, Takes::schema},
    {"propertyNames", Effect::schema, Takes::schema},
    {"required", Effect::enforced, Takes::names},
    {"dependentRequired", Effect::enforced, Takes::object},
    {"minProperties", Effect::enforced, Takes::count},
    {"maxProperties", Effect::enforced, Takes::count},
    {"unevaluatedProperties"},
    {"dependentSchemas"},
    {"dependencies"},
    // Arrays.
    {"items", Effect::schema},
    {"prefixItems", Effect::schema, Takes::list},
    {"additionalItems", Effect::schema, Takes::schema},
    {"minItems", Effect::enforced, Takes::count},
    {"maxItems", Effect::enforced, Takes::count},
    {"uniqueItems"},
    {"contains"},
    {"minContains", Effect::annotation},  // no effect without `contains`
    {"maxContains", Effect::annotation},
    {"unevaluatedItems"},
    // Annotations that have a meaning elsewhere.
    {"contentEncoding", Effect::annotation},
    {"contentMediaType", Effect::annotation},
    {"contentSchema", Effect::annotation},
    {"title", Effect::annotation},
    {"description", Effect::annotation},
    {"default", Effect::annotation},
    {"examples", Effect::annotation},
    {"deprecated", Effect::annotation},
    {"readOnly", Effect::annotation},
    {"writeOnly", Effect::annotation},
    {"$comment", Effect::annotation},
    {"$schema", Effect::annotation},
    {"$id", Effect::annotation},
    {"$anchor", Effect::annotation},
    {"$dynamicAnchor", Effect::annotation},
    {"$recursiveAnchor", Effect::annotation},
    {"$vocabulary", Effect::annotation},
    {"$defs", Effect::annotation},
    {"definitions", Effect::annotation},
};

bool is_schema(const Value& value) { return value.is_object() || value.is_bool(); }
bool is_text(const Value& value) { return value.is_string(); }

// The error of a keyword's value; empty: none.
std::string_view wrong_type(Takes takes, const Value& value) {
  switch (takes) {
    case Takes::anything:
      return {};
    case Takes::text:
      return value.is_string() ? "" : "must be a string";
    case Takes::count:
      return value.is_number() && value.to_number<double>() >= 0 ? "" : "must be a whole number from 0 up";
    case Takes::number:
      return value.is_number() ? "" : "must be a number";
    case Takes::flag:
      return value.is_bool() ? "" : "must be a boolean";
    case Takes::list:
      return value.is_array() && !value.as_array().empty() ? "" : "must be an array that isn't empty";
    case Takes::object:
      return value.is_object() ? "" : "must be an object";
    case Takes::schema:
      return is_schema(value) ? "" : "must be a schema";
    case Takes::names:
      return value.is_array() && std::ranges::all_of(value.as_array(), is_text) ? "" : "must be an array of names";
  }
  return {};
}

bool allows_type(const Object& schema, std::string_view type) {
  const auto* types = schema.if_contains("type");
  if (!types) return true;
  if (types->is_string()) return types->as_string() == type;
  return types->is_array() && std::ranges::any_of(types->as_array(), [&](const Value& one) {
           return one.is_string() && one.as_string() == type;
         });
}

class Walk {
 public:
  Walk(const Value& root, Languages* languages) : root_(root), languages_(languages) {}

  std::vector<Unenforced> run(const Value& schema, const std::string& at) {
    visit(schema, at);
    return std::move(found_);
  }

 private:
  void visit(const Value& schema, const std::string& at) {
    if (schema.is_bool()) return;
    if (!schema.is_object()) throw SchemaFault{at, "must be a schema: an object or a boolean"};
    if (!seen_.insert(&schema).second) return;
    for (const auto& [name, value] : schema.as_object()) member(schema.as_object(), name, value, pointer_to(at, name));
  }

  void member(const Object& schema, std::string_view name, const Value& value, const std::string& at) {
    static const std::unordered_map<std::string_view, Keyword> keywords = [] {
      std::unordered_map<std::string_view, Keyword> all;
      for (const auto& one : kKeywords) all.emplace(one.name, one);
      return all;
    }();
    const auto known = keywords.find(name);
    if (known == keywords.end()) return;
    const auto& keyword = known->second;
    if (const auto wrong = wrong_type(keyword.takes, value); !wrong.empty()) throw SchemaFault{at, std::string(wrong)};
    if (keyword.takes == Takes::count && name.starts_with("min") && value.to_number<double>() > kMaxLeast) {
      throw SchemaFault{at, fmt::format("is above {}, the maximum", kMaxLeast)};
    }
    if (keyword.effect == Effect::refused) {
      if (!means_nothing(schema, name, value)) report(name, at, "");
    } else if (keyword.effect == Effect::parts) {
      for (const auto& [part, inner] : value.as_object()) {
        if (name == "patternProperties") check_pattern(name, part, pointer_to(at, part));
        visit(inner, pointer_to(at, part));
      }
    } else if (keyword.effect == Effect::schema && value.is_array()) {
      for (std::size_t i = 0; i < value.as_array().size(); ++i) visit(value.as_array()[i], fmt::format("{}/{}", at, i));
    } else if (keyword.effect == Effect::schema) {
      visit(value, at);
    } else if (name == "$ref") {
      const auto& target = resolve(root_, value.as_string(), at);
      visit(target, std::string(value.as_string()));
    } else if (keyword.effect == Effect::enforced) {
      check_value(schema, name, value, at);
    }
  }

  static bool means_nothing(const Object& schema, std::string_view name, const Value& value) {
    if (name == "uniqueItems") {
      const auto* most = schema.if_contains("maxItems");
      return !value.is_bool() || !value.as_bool() || (most && most->is_number() && most->to_number<double>() <= 1) ||
             !allows_type(schema, "array");
    }
    if (name == "unevaluatedProperties") return value.is_bool();
    if (name == "unevaluatedItems") return value.is_bool() && value.as_bool();
    if (name == "then" || name == "else") return !schema.contains("if");
    if (name == "if") return !schema.contains("then") && !schema.contains("else");
    if (name == "dependencies" || name == "dependentSchemas") return value.is_object() && value.as_object().empty();
    return false;
  }

  void check_value(const Object& schema, std::string_view name, const Value& value, const std::string& at) {
    if (name == "pattern") check_pattern(name, value.as_string(), at);
    if (name == "format" && allows_type(schema, "string") && !format_pattern(value.as_string())) {
      report(name, at, fmt::format("\"{:.40}\" isn't known", std::string_view(value.as_string())));
    }
    if (name == "multipleOf" && (allows_type(schema, "number") || allows_type(schema, "integer"))) {
      const auto divisor = value.to_number<double>();
      if (divisor <= 0) throw SchemaFault{at, "must be above 0"};
      if (divisor != static_cast<std::uint32_t>(std::min(divisor, 1e6)) || divisor > 2000) {
        report(name, at, "only whole numbers up to 2000 are");
      }
    }
  }

  void check_pattern(std::string_view name, std::string_view pattern, const std::string& at) {
    const auto known = patterns_.find(pattern);
    const auto& fault =
        known != patterns_.end() ? known->second : patterns_.emplace(pattern, judge(pattern)).first->second;
    if (!fault) return;
    if (fault->invalid) throw SchemaFault{at, fault->reason};
    report(name, at, fmt::format("the pattern {}", fault->reason));
  }

  std::optional<UnsupportedPattern> judge(std::string_view pattern) {
    try {
      if (languages_) {
        Automaton::make(*languages_, pattern_language(*languages_, pattern));
      } else {
        parse_pattern(pattern);
      }
    } catch (const UnsupportedPattern& unsupported) {
      return unsupported;
    } catch (const TooComplex&) {
      return UnsupportedPattern{"is too complex", false};
    }
    return std::nullopt;
  }

  void report(std::string_view keyword, const std::string& at, std::string reason) {
    found_.push_back({std::string(keyword), at, std::move(reason)});
  }

  const Value& root_;
  std::set<const Value*> seen_;
  Languages* languages_;
  std::map<std::string_view, std::optional<UnsupportedPattern>> patterns_;  // why they can't be enforced
  std::vector<Unenforced> found_;
};

// "~1" is "/", "~0" is "~", and "%25" is "%".
std::string unescaped_token(std::string_view token) {
  std::string all;
  for (std::size_t at = 0; at < token.size(); ++at) {
    unsigned value = 0;
    if (token[at] == '~' && at + 1 < token.size() && (token[at + 1] == '0' || token[at + 1] == '1')) {
      all += token[++at] == '0' ? '~' : '/';
    } else if (token[at] == '%' && at + 2 < token.size() &&
               std::from_chars(token.data() + at + 1, token.data() + at + 3, value, 16).ptr == token.data() + at + 3) {
      all += static_cast<char>(value);
      at += 2;
    } else {
      all += token[at];
    }
  }
  return all;
}

}  // namespace

const Value& resolve(const Value& root, std::string_view ref, const std::string& at) {
  const auto nowhere = [&] {
    return SchemaFault{at, fmt::format("names \"{:.60}\", which isn't in this schema", ref)};
  };
  if (ref != "#" && !ref.starts_with("#/")) throw nowhere();
  const Value* here = &root;
  for (auto rest = ref.substr(1); !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find('/'), rest.size());
    const auto token = unescaped_token(rest.substr(0, end));
    rest.remove_prefix(end);
    const Value* next = nullptr;
    if (here->is_object()) {
      next = here->as_object().if_contains(token);
    } else if (here->is_array()) {
      std::size_t index = 0;
      const auto parsed = std::from_chars(token.data(), token.data() + token.size(), index);
      if (parsed.ec == std::errc() && parsed.ptr == token.data() + token.size())
        next = here->as_array().if_contains(index);
    }
    if (!next) throw nowhere();
    here = next;
  }
  return *here;
}

std::string pointer_to(const std::string& at, std::string_view member) {
  auto all = at + '/';
  for (const char c : member) {
    if (c == '~') {
      all += "~0";
    } else if (c == '/') {
      all += "~1";
    } else {
      all += c;
    }
  }
  return all;
}

std::vector<Unenforced> check_keywords(const Value& root, const Value& schema, const std::string& at,
                                       Languages* languages) {
  return Walk(root, languages).run(schema, at);
}

}  // namespace corral::json_schema
