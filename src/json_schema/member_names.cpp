#include "json_schema/member_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "json_schema/automaton.h"
#include "json_schema/exclusion.h"
#include "json_schema/pattern.h"
#include "json_schema/pointers.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Rule = SchemaRules::Rule;

constexpr std::size_t kMaxPatterns = 32;
constexpr std::size_t kMaxGroups = 64;  // of names that match the same patterns

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
      auto& part = parts_.emplace_back(Part{list.as_object(), {}, false});
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
  part.left_out = true;
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
    // The name may match an unenforced pattern.
    const auto* others = part.own.if_contains("additionalProperties");
    if (!named && others && !part.left_out) add(all, *others, pointer_to(at_, "additionalProperties"));
  }
  return joined(std::move(all));
}

std::vector<MemberNames::Others> MemberNames::others() {
  std::vector<Others> all;
  const auto by_patterns = groups();
  for (const auto& group : by_patterns) {
    auto values = schema_of_others(group.chosen);
    if (!values) continue;
    if (auto key = key_of_others(group.names)) all.push_back({std::move(key), std::move(*values)});
  }
  if (schema_of_others(0)) return all;  // names of unenforced patterns are among them
  for (const auto& values : left_out_) {
    if (auto key = key_of_others(by_patterns.front().names)) all.push_back({std::move(key), values});
  }
  return all;
}

// The first group matches no pattern.
std::vector<MemberNames::Group> MemberNames::groups() {
  std::vector<Group> all{{names_ ? *names_ : rules_.languages().all(), 0}};
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    try {
      all = divided(all, i);
    } catch (const TooComplex&) {
      too_complex("patternProperties");
      for (const auto& part : parts_) {
        if (std::ranges::find(part.patterns, i) == part.patterns.end()) continue;
        const auto text = patterns_[i].text;
        left_out_.push_back(
            {part.own.at("patternProperties").at(text), pointer_to(pointer_to(at_, "patternProperties"), text)});
      }
    }
  }
  return all;
}

// Each group in two: of names that match this pattern, and others.
std::vector<MemberNames::Group> MemberNames::divided(std::vector<Group> all, std::size_t pattern) {
  auto& languages = rules_.languages();
  const auto matching = patterns_[pattern].names, others = languages.complement(matching);
  for (auto at = all.size(); at-- > 0;) {
    const auto both = languages.both(all[at].names, matching);
    const bool some = !Automaton::make(languages, both).states.empty();
    all[at].names = languages.both(all[at].names, others);
    if (some) all.push_back({both, all[at].chosen | std::size_t(1) << pattern});
    if (all.size() > kMaxGroups) throw TooComplex();
  }
  return all;
}

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

Rule MemberNames::key_of_others(Language names) {
  auto& languages = rules_.languages();
  if (!names_ && patterns_.empty()) {
    return known_.empty() ? Rule(rules_.grammar().builtin("string"))
                          : Rule(rules_.language_rules().other_names(known_));
  }
  try {
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
