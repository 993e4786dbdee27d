#include "json_schema/object_rules.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "json_schema/conjunction.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Rule = SchemaRules::Rule;

constexpr std::size_t kMaxPatterns = 3;

class ObjectRule {
 public:
  ObjectRule(SchemaRules& rules, const Object& schema, const std::string& at)
      : rules_(rules), schema_(schema), at_(at), space_(rules.grammar().builtin("space")) {}

  Rule make() {
    least_ = count_of(schema_, "minProperties", 0);
    most_ = count_of(schema_, "maxProperties", Languages::kNoMost);
    if (is_any()) return rules_.grammar().builtin("object");
    read_patterns();
    read_names();
    if (!add_properties()) return std::nullopt;
    add_others();
    return body();
  }

 private:
  struct Values {
    const Value* schema;
    std::string at;
  };
  struct Pattern {
    Language names;
    Values values;
  };

  bool is_any() const {
    static constexpr std::string_view kAbout[] = {"properties", "required", "patternProperties", "propertyNames"};
    const auto* more = schema_.if_contains("additionalProperties");
    return std::ranges::none_of(kAbout, [&](auto keyword) { return schema_.contains(keyword); }) && least_ == 0 &&
           most_ == Languages::kNoMost && (!more || *more == Value(true)) && !closed();
  }
  bool closed() const {
    const auto* said = schema_.if_contains("unevaluatedProperties");
    return said && said->is_bool() && !said->as_bool() && !schema_.contains("additionalProperties");
  }

  void read_patterns() {
    const auto* given = schema_.if_contains("patternProperties");
    if (!given) return;
    const auto at = pointer_to(at_, "patternProperties");
    for (const auto& [pattern, schema] : given->as_object()) {
      const Values values{&schema, pointer_to(at, pattern)};
      try {
        const auto names = pattern_language(rules_.languages(), pattern);
        if (patterns_.size() < kMaxPatterns) {
          patterns_.push_back({names, values});
          continue;
        }
        rules_.report("patternProperties", at_, fmt::format("more than {} patterns are too many", kMaxPatterns));
      } catch (const UnsupportedPattern&) {  // reported already
      } catch (const TooComplex&) {
        too_complex("patternProperties");
      }
      left_out_.push_back(values);
    }
  }

  // Reads propertyNames.
  void read_names() {
    const auto* given = schema_.if_contains("propertyNames");
    if (!given) return;
    if (given->is_bool()) {
      if (!given->as_bool()) names_ = rules_.languages().none();
      return;
    }
    for (const auto& [keyword, value] : given->as_object()) {
      const bool other = keyword == "$ref" || keyword == "anyOf" || keyword == "allOf" || keyword == "oneOf";
      if (other) rules_.report("propertyNames", at_, fmt::format("only without {}", std::string_view(keyword)));
    }
    const auto plain = plain_form(given->as_object());
    names_ = rules_.strings_of(plain, pointer_to(at_, "propertyNames"));
    if (const auto* values = plain.if_contains("enum")) {
      std::vector<std::string_view> texts;
      for (const auto& value : values->as_array()) {
        if (value.is_string()) texts.push_back(value.as_string());
      }
      try {
        const auto all = one_of(texts);
        names_ = names_ ? rules_.languages().both(*names_, all) : all;
      } catch (const TooComplex&) {
        too_complex("propertyNames");
      }
    }
  }

  void too_complex(std::string_view keyword) { rules_.report(keyword, at_, "the pattern is too complex"); }

  template <typename Names>
  Language one_of(const Names& names) {
    std::vector<Language> all;
    for (const auto& name : names) all.push_back(rules_.languages().text(characters_of(name)));
    return rules_.languages().either(std::move(all));
  }

  // `keyword` is the one that has `names`.
  bool matches(Language names, std::string_view name, std::string_view keyword, bool otherwise) {
    try {
      return rules_.languages().contains(names, characters_of(name));
    } catch (const TooComplex&) {
      too_complex(keyword);
      return otherwise;
    }
  }
  bool name_fits(std::string_view name) { return !names_ || matches(*names_, name, "propertyNames", true); }

  // The schema of this property: `own`, and the patterns that match its name.
  Value with_patterns(std::string_view name, const Value& own) {
    Array all{own};
    for (const auto& pattern : patterns_) {
      if (matches(pattern.names, name, "patternProperties", false)) all.push_back(*pattern.values.schema);
    }
    return all.size() == 1 ? own : Value(Object{{"allOf", all}});
  }

  // False: no object fits.
  bool add_properties() {
    std::set<std::string_view> required;
    if (const auto* names = schema_.if_contains("required")) {
      for (const auto& name : names->as_array()) required.insert(name.as_string());
    }
    const auto at = pointer_to(at_, "properties");
    if (const auto* properties = schema_.if_contains("properties")) {
      for (const auto& [name, value] : properties->as_object()) {
        if (!add_property(name, value, pointer_to(at, name), required.contains(name))) return false;
      }
    }
    const auto* names = schema_.if_contains("required");
    for (std::size_t i = 0; names && i < names->as_array().size(); ++i) {
      const std::string_view name = names->as_array()[i].as_string();
      if (known_.contains(name)) continue;
      const auto* more = schema_.if_contains("additionalProperties");
      const bool by_pattern = with_patterns(name, true) != Value(true);
      const Value own = by_pattern || !more ? Value(true) : *more;
      if (!add_property(name, own, pointer_to(at_, "additionalProperties"), true)) return false;
    }
    return true;
  }

  bool add_property(std::string_view name, const Value& value, const std::string& at, bool required) {
    known_.emplace(name);
    const auto rule = name_fits(name) ? rules_.visit_inside(with_patterns(name, value), at) : Rule();
    if (!rule) return !required;
    auto member = rules_.grammar().rule(
        fmt::format(R"({} {} ":" {} {})", literal(json::serialize(Value(name))), space_, space_, *rule));
    (required ? required_ : optional_).push_back(std::move(member));
    return true;
  }

  // Members with unlisted names: those of patterns, and others if the object is open.
  void add_others() {
    const auto* more = schema_.if_contains("additionalProperties");
    const bool open = more ? *more != Value(false)
                           : !schema_.contains("properties") && !schema_.contains("patternProperties") && !closed();
    std::vector<std::string> others;
    for (std::size_t chosen = 0; chosen < std::size_t(1) << patterns_.size(); ++chosen) {
      if (chosen == 0 && !open) continue;
      if (auto made = other(chosen, more)) others.push_back(std::move(*made));
    }
    for (const auto& values : left_out_) {
      if (open) break;
      if (auto made = member(other_key(0), *values.schema, values.at)) others.push_back(std::move(*made));
    }
    if (others.empty()) return;
    other_ = others.size() == 1 ? others[0] : rules_.grammar().rule(fmt::format("{}", fmt::join(others, " | ")));
  }

  // Members with names that match the patterns of this set and no others.
  Rule other(std::size_t chosen, const Value* more) {
    Array schemas;
    auto at = pointer_to(at_, "additionalProperties");
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if ((chosen >> i & 1) == 0) continue;
      schemas.push_back(*patterns_[i].values.schema);
      at = patterns_[i].values.at;
    }
    const auto value = schemas.empty()       ? more ? *more : Value(true)
                             : schemas.size() == 1 ? schemas[0]
                                             : Value(Object{{"allOf", schemas}});
    return member(other_key(chosen), value, at);
  }

  Rule member(const Rule& key, const Value& value, const std::string& at) {
    if (!key) return std::nullopt;
    const auto rule = rules_.visit_inside(value, at);
    if (!rule) return std::nullopt;
    return rules_.grammar().rule(fmt::format(R"({} {} ":" {} {})", *key, space_, space_, *rule));
  }

  Rule other_key(std::size_t chosen) {
    if (!names_ && patterns_.empty() && known_.empty()) return rules_.grammar().builtin("string");
    auto& languages = rules_.languages();
    try {
      auto names = names_ ? *names_ : languages.all();
      for (std::size_t i = 0; i < patterns_.size(); ++i) {
        const bool matches = (chosen >> i & 1) != 0;
        names = languages.both(names, matches ? patterns_[i].names : languages.complement(patterns_[i].names));
      }
      return rules_.language_rules().strings(languages.both(names, languages.complement(one_of(known_))));
    } catch (const TooComplex&) {
      if (!known_.empty()) return std::nullopt;  // no such members: narrower, but correct
      too_complex(names_ ? "propertyNames" : "patternProperties");
      return rules_.grammar().builtin("string");
    }
  }

  Rule body() {
    const auto must = required_.size();
    if (must > most_) return std::nullopt;
    least_ -= std::min(least_, must);
    if (most_ != Languages::kNoMost) most_ -= must;
    if (least_ > optional_.size() + (other_ ? 1 : 0)) {
      if (!other_) return std::nullopt;
      rules_.report("minProperties", at_, "distinct names can't be enforced");
      least_ = optional_.size() + 1;
    }
    if (least_ > most_) return std::nullopt;
    std::string members;
    if (must == 0) {
      const auto some = first(0, 0);
      if (!some && least_ > 0) return std::nullopt;
      members = some ? *some + (least_ == 0 ? "?" : "") : "";
    } else {
      const auto more = after(0, 0);
      if (!more) return std::nullopt;
      members = fmt::format(R"({} {})", fmt::join(required_, fmt::format(R"( "," {} )", space_)), *more);
    }
    return rules_.grammar().rule(fmt::format(R"("{{" {} {} {} "}}")", space_, members, space_));
  }

  // Members from the optional one at `index` on, after `count` members: at least one; any number, each with its comma.
  // Without an upper limit, a count beyond the minimum is equivalent to the minimum.
  std::size_t counted(std::size_t count) const { return most_ == Languages::kNoMost ? std::min(count, least_) : count; }

  Rule first(std::size_t index, std::size_t count) {
    count = counted(count);
    const auto key = std::pair(index, count);
    if (const auto known = firsts_.find(key); known != firsts_.end()) return known->second;
    std::vector<std::string> ways;
    if (count < most_ && index < optional_.size()) {
      if (const auto more = after(index + 1, count + 1)) ways.push_back(optional_[index] + " " + *more);
      if (const auto later = first(index + 1, count)) ways.push_back(*later);
    } else if (count < most_ && other_ && count + 1 >= least_) {
      const auto follow = rules_.grammar().rule(fmt::format(R"("," {} {})", space_, *other_));
      const auto most = most_ == Languages::kNoMost ? most_ : most_ - count - 1;
      ways.push_back(*other_ + " " + rules_.grammar().repeat(follow, 0, most));
    }
    const auto made = ways.empty() ? Rule() : rules_.grammar().rule(fmt::format("{}", fmt::join(ways, " | ")));
    firsts_.emplace(key, made);
    return made;
  }

  Rule after(std::size_t index, std::size_t count) {
    const auto more = first(index, count);
    const bool may_end = count >= least_;
    if (!more) return may_end ? Rule("") : Rule();
    const auto follow = fmt::format(R"("," {} {})", space_, *more);
    return may_end ? "(" + follow + ")?" : follow;
  }

  SchemaRules& rules_;
  const Object& schema_;
  const std::string& at_;
  const std::string space_;
  std::size_t least_ = 0, most_ = Languages::kNoMost;
  std::vector<Pattern> patterns_;
  std::vector<Values> left_out_;   // of unenforced patterns: for any other name
  std::optional<Language> names_;  // that propertyNames allows
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> required_, optional_;  // members: a name and its value
  Rule other_;
  std::map<std::pair<std::size_t, std::size_t>, Rule> firsts_;
};

}  // namespace

SchemaRules::Rule object_rule(SchemaRules& rules, const Object& schema, const std::string& at) {
  return ObjectRule(rules, schema, at).make();
}

}  // namespace corral::json_schema
