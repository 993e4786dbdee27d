#include "json_schema/keywords.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "json_schema/automaton.h"
#include "json_schema/decimal.h"
#include "json_schema/formats.h"
#include "json_schema/keyword_table.h"
#include "json_schema/pattern.h"
#include "json_schema/pattern_parser.h"
#include "json_schema/pointers.h"
#include "json_schema/types.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr int kMaxLeast = 1'000'000;

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
    // Later, since a chain of references may be longer than the stack is deep.
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const auto [target, place] = targets_[i];
      visit(*target, place);
    }
    return std::move(found_);
  }

 private:
  void visit(const Value& schema, const std::string& at) {
    if (schema.is_bool()) return;
    if (!is_schema(schema)) refuse(at, missed_type(Takes::schema, schema), schema);
    if (!seen_.insert(&schema).second) return;
    for (const auto& [name, value] : schema.as_object()) member(schema.as_object(), name, value, pointer_to(at, name));
  }

  void member(const Object& schema, std::string_view name, const Value& value, const std::string& at) {
    const auto* known = find_keyword(name);
    if (!known) return;
    const auto& keyword = *known;
    if (const auto missed = missed_type(keyword.takes, value); !missed.empty()) refuse(at, missed, value);
    if (name.starts_with("exclusive") && !value.is_number() && !value.is_bool()) refuse(at, "a number", value);
    if (name == "type") {  // throws if it isn't one
      types_of(Object{{"type", value.is_array() ? value : Value(Array{value})}}, at.substr(0, at.rfind('/')));
    }
    if (name == "dependentRequired" || name == "dependencies") check_dependents(value, at);
    if (keyword.takes == Takes::count && name.starts_with("min") && value.to_number<double>() > kMaxLeast) {
      refuse(at, fmt::format("{} or less", kMaxLeast), value);
    }
    if (keyword.effect == Effect::refused) {
      report(name, at, "only references with one target, known before");
    } else if (keyword.effect == Effect::dependencies) {
      for (const auto& [part, inner] : value.as_object()) {
        if (is_schema(inner)) visit(inner, pointer_to(at, part));
      }
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
      targets_.emplace_back(&target, value.as_string());
    } else if (keyword.effect == Effect::enforced) {
      check_value(schema, name, value, at);
    }
  }

  // Lists of names; those of `dependencies` may be schemas.
  static void check_dependents(const Value& all, const std::string& at) {
    for (const auto& [name, one] : all.as_object()) {
      if (is_schema(one)) continue;
      if (const auto missed = missed_type(Takes::names, one); !missed.empty())
        refuse(pointer_to(at, name), missed, one);
    }
  }

  // Whether the items of an array may be listed values; array_rules.cpp knows more.
  static bool may_be_listed(const Object& schema) {
    const auto* max = schema.if_contains("maxItems");
    if (max && max->is_number() && max->to_number<double>() <= 1) return true;
    const auto* items = schema.if_contains("items");
    if (!allows_type(schema, "array") || !items || !items->is_object()) return true;
    static constexpr std::string_view kFree[] = {"string", "number", "integer", "array", "object"};
    static constexpr std::string_view kLists[] = {"enum", "const", "$ref", "anyOf", "oneOf", "allOf"};
    const auto& inner = items->as_object();
    return std::ranges::any_of(kLists,
                               [&](auto keyword) { return inner.contains(keyword) || schema.contains(keyword); }) ||
           !inner.contains("type") || std::ranges::none_of(kFree, [&](auto type) { return allows_type(inner, type); });
  }

  void check_value(const Object& schema, std::string_view name, const Value& value, const std::string& at) {
    if (name == "uniqueItems" && value == Value(true) && !may_be_listed(schema)) {
      report(name, at, "only for items that are listed in an enum");
    }
    if (name == "pattern") check_pattern(name, value.as_string(), at);
    if (name == "format" && allows_type(schema, "string") && !format_pattern(value.as_string())) {
      report(name, at, fmt::format("\"{:.40}\" isn't known", std::string_view(value.as_string())));
      found_.back().annotation = true;  // as the specification says
    }
    if (name == "multipleOf" && (allows_type(schema, "number") || allows_type(schema, "integer"))) {
      const auto divisor = value.to_number<double>();
      if (divisor <= 0) refuse(at, "above 0", value);
      if (!Step::of(value)) report(name, at, "it has too many digits");
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

  [[noreturn]] static void refuse(const std::string& at, std::string_view wanted, const Value& value) {
    throw SchemaFault{at, fmt::format("must be {}, not {:.60}", wanted, json::serialize(value))};
  }

  void report(std::string_view keyword, const std::string& at, std::string reason) {
    found_.push_back({std::string(keyword), at, std::move(reason)});
  }

  const Value& root_;
  std::set<const Value*> seen_;
  std::vector<std::pair<const Value*, std::string>> targets_;  // of references
  Languages* languages_;
  std::map<std::string_view, std::optional<UnsupportedPattern>> patterns_;  // why they can't be enforced
  std::vector<Unenforced> found_;
};

}  // namespace

std::vector<Unenforced> check_keywords(const Value& root, const Value& schema, const std::string& at,
                                       Languages* languages) {
  return Walk(root, languages).run(schema, at);
}

}  // namespace corral::json_schema
