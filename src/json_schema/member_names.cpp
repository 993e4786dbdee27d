#include "json_schema/member_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "json_schema/exclusion.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Rule = SchemaRules::Rule;

constexpr std::size_t kMaxPatterns = 6;

}  // namespace

MemberNames::MemberNames(SchemaRules& rules, const Object& schema, const std::string& at)
    : rules_(rules), at_(at), closed_(!rules.strict() && is_closed(schema, false)) {
  read(schema);
}

void MemberNames::read(const Object& schema) {
  if (const auto* names = schema.if_contains("required")) {
    for (const auto& name : names->as_array()) required_.insert(name.as_string());
  }
  if (const auto* lists = schema.if_contains("members")) {
    for (const auto& list : lists->as_array()) {
      auto& part = parts_.emplace_back(Part{list.as_object(), {}});
      if (const auto* patterns = part.own.if_contains("patternProperties")) {
        for (const auto& [pattern, inner] : patterns->as_object()) add_pattern(part, pattern, inner);
      }
      if (const auto* properties = part.own.if_contains("properties")) {
        for (const auto& member : properties->as_object()) add_listed(member.key());
      }
    }
  }
  if (const auto* names = schema.if_contains("required")) {
    for (const auto& name : names->as_array()) add_listed(name.as_string());
  }
  if (const auto* names = schema.if_contains("propertyNames")) {
    try {
      names_ = rules_.names_of(*names, pointer_to(at_, "propertyNames"));
    } catch (const TooComplex&) {
      too_complex("propertyNames");
    }
  }
}

void MemberNames::add_listed(std::string_view name) {
  if (known_.insert(name).second) listed_.push_back(name);
}

void MemberNames::add_pattern(Part& part, std::string_view pattern, const Value& schema) {
  const auto known = std::ranges::find(patterns_, pattern, &Pattern::text);
  if (known != patterns_.end()) {
    part.patterns.push_back(static_cast<std::size_t>(known - patterns_.begin()));
    return;
  }
  try {
    const auto names = pattern_language(rules_.languages(), pattern);
    if (patterns_.size() < kMaxPatterns) {
      part.patterns.push_back(patterns_.size());
      patterns_.push_back({pattern, names});
      return;
    }
    rules_.report("patternProperties", at_, fmt::format("more than {} patterns are too many", kMaxPatterns));
  } catch (const UnsupportedPattern&) {  // reported already
  } catch (const TooComplex&) {
    too_complex("patternProperties");
  }
  left_out_.push_back({schema, pointer_to(pointer_to(at_, "patternProperties"), pattern)});
}

// `keyword` is the one that has `names`.
bool MemberNames::matches(Language names, std::string_view name, std::string_view keyword, bool otherwise) {
  try {
    return rules_.languages().contains(names, characters_of(name));
  } catch (const TooComplex&) {
    too_complex(keyword);
    return otherwise;
  }
}

void MemberNames::add(std::vector<Schema>& all, const Value& schema, const std::string& at) const {
  if (schema == Value(true) || schema == Value(Object())) return;
  if (std::ranges::none_of(all, [&](const Schema& one) { return one.schema == schema; })) all.push_back({schema, at});
}

MemberNames::Schema MemberNames::joined(std::vector<Schema> all) const {
  if (all.empty()) return {true, pointer_to(at_, "additionalProperties")};
  if (all.size() == 1) return std::move(all.front());
  Array schemas;
  for (auto& one : all) schemas.push_back(std::move(one.schema));
  return {Object{{"allOf", std::move(schemas)}}, all.front().at};
}

std::optional<MemberNames::Schema> MemberNames::schema_of(std::string_view name) {
  if (names_ && !matches(*names_, name, "propertyNames", true)) return std::nullopt;
  std::vector<bool> fitting;
  for (const auto& pattern : patterns_) fitting.push_back(matches(pattern.names, name, "patternProperties", false));
  std::vector<Schema> all;
  for (const auto& part : parts_) {
    bool named = false;
    if (const auto* properties = part.own.if_contains("properties")) {
      if (const auto* own = properties->as_object().if_contains(name)) {
        named = true;
        add(all, *own, pointer_to(pointer_to(at_, "properties"), name));
      }
    }
    for (const auto number : part.patterns) {
      if (!fitting[number]) continue;
      const auto text = patterns_[number].text;
      named = true;
      add(all, part.own.at("patternProperties").at(text), pointer_to(pointer_to(at_, "patternProperties"), text));
    }
    const auto* others = part.own.if_contains("additionalProperties");
    if (!named && others) add(all, *others, pointer_to(at_, "additionalProperties"));
  }
  return joined(std::move(all));
}

std::vector<MemberNames::Others> MemberNames::others() {
  std::vector<Others> all;
  for (std::size_t chosen = 0; chosen < std::size_t(1) << patterns_.size(); ++chosen) {
    auto values = schema_of_others(chosen);
    if (!values) continue;
    if (auto key = key_of_others(chosen)) all.push_back({std::move(key), std::move(*values)});
  }
  const bool open = schema_of_others(0).has_value();
  for (const auto& values : left_out_) {
    if (open) break;
    if (auto key = key_of_others(0)) all.push_back({std::move(key), values});
  }
  return all;
}

// Of names that match the patterns of this set and no others; nothing: there are none.
std::optional<MemberNames::Schema> MemberNames::schema_of_others(std::size_t chosen) const {
  std::vector<Schema> all;
  for (const auto& part : parts_) {
    bool named = false;
    for (const auto number : part.patterns) {
      if ((chosen >> number & 1) == 0) continue;
      const auto text = patterns_[number].text;
      named = true;
      add(all, part.own.at("patternProperties").at(text), pointer_to(pointer_to(at_, "patternProperties"), text));
    }
    const auto* others = part.own.if_contains("additionalProperties");
    if (!named && others) add(all, *others, pointer_to(at_, "additionalProperties"));
  }
  if (std::ranges::any_of(all, [](const Schema& one) { return one.schema == Value(false); })) return std::nullopt;
  if (chosen == 0 && !rules_.strict()) {
    const bool shut = std::ranges::any_of(parts_, [](const Part& part) {
      return part.own.contains("patternProperties") && !part.own.contains("additionalProperties");
    });
    if (closed_ || (shut && all.empty())) return std::nullopt;
  }
  return joined(std::move(all));
}

Rule MemberNames::key_of_others(std::size_t chosen) {
  auto& languages = rules_.languages();
  if (!names_ && patterns_.empty()) {
    return known_.empty() ? Rule(rules_.grammar().builtin("string"))
                          : Rule(rules_.language_rules().other_names(known_));
  }
  try {
    auto names = names_ ? *names_ : languages.all();
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const bool matches = (chosen >> i & 1) != 0;
      names = languages.both(names, matches ? patterns_[i].names : languages.complement(patterns_[i].names));
    }
    std::vector<Language> known;
    for (const auto name : known_) {
      if (languages.contains(names, characters_of(name))) known.push_back(languages.text(characters_of(name)));
    }
    if (!known.empty()) names = languages.both(names, languages.complement(languages.either(std::move(known))));
    return rules_.language_rules().strings(names);
  } catch (const TooComplex&) {
    if (!known_.empty()) return std::nullopt;  // no such members: narrower, but correct
    too_complex(names_ ? "propertyNames" : "patternProperties");
    return rules_.grammar().builtin("string");
  }
}

}  // namespace corral::json_schema
