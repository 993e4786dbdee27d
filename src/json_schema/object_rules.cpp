#include "json_schema/object_rules.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "json_schema/member_names.h"
#include "json_schema/types.h"

namespace corral::json_schema {
namespace {

using json::Object;
using json::Value;
using Rule = SchemaRules::Rule;

constexpr std::size_t kMaxCounted = 20'000;  // rules of an object whose properties are counted

class ObjectRule {
 public:
  ObjectRule(SchemaRules& rules, const Object& schema, const std::string& at)
      : rules_(rules), schema_(schema), at_(at), space_(rules.grammar().builtin("space")) {}

  Rule make() {
    min_ = count_of(schema_, "minProperties", 0);
    max_ = count_of(schema_, "maxProperties", Languages::kUnbounded);
    if (is_any()) return rules_.grammar().builtin("object");
    MemberNames names(rules_, schema_, at_);
    if (!add_listed(names)) return std::nullopt;
    add_others(names);
    return body();
  }

 private:
  struct Member {
    std::string rule;  // a name and its value
    bool required;
  };

  bool is_any() const {
    static constexpr std::string_view kAbout[] = {"members", "required", "propertyNames"};
    return std::ranges::none_of(kAbout, [&](auto keyword) { return schema_.contains(keyword); }) && min_ == 0 &&
           max_ == Languages::kUnbounded;
  }

  Rule member(const std::string& key, const MemberNames::Schema& values) {
    const auto rule = rules_.visit_inside(values.schema, values.at);
    if (!rule) return std::nullopt;
    return rules_.grammar().rule(fmt::format(R"({} {} ":" {} {})", key, space_, space_, *rule));
  }

  // False: no object fits.
  bool add_listed(MemberNames& names) {
    for (const auto name : names.listed()) {
      const auto values = names.schema_of(name);
      const auto made = values ? member(literal(json::serialize(Value(name))), *values) : Rule();
      const bool required = names.required(name);
      if (!made && required) return false;
      if (made) members_.push_back({*made, required});
    }
    return true;
  }

  void add_others(MemberNames& names) {
    std::vector<std::string> all;
    for (const auto& others : names.others()) {
      if (auto made = member(*others.key, others.values)) all.push_back(std::move(*made));
    }
    other_ = rules_.either(all);
  }

  Rule body() {
    needed_.assign(members_.size() + 1, 0);
    for (auto i = members_.size(); i-- > 0;) needed_[i] = needed_[i + 1] + (members_[i].required ? 1 : 0);
    if (needed_[0] > max_) return std::nullopt;
    if (min_ <= needed_[0]) min_ = 0;
    if (!other_ && max_ >= members_.size()) max_ = Languages::kUnbounded;
    if (min_ > members_.size() + (other_ ? 1 : 0)) {
      if (!other_) return std::nullopt;
      rules_.report("minProperties", at_, "distinct names can't be enforced");
      min_ = members_.size() + 1;
    }
    if (min_ > max_) return std::nullopt;
    const auto counts = max_ == Languages::kUnbounded ? min_ : std::min(max_, members_.size()) + 1;
    if ((members_.size() + 1) * (counts + 1) > kMaxCounted) {
      rules_.report(max_ == Languages::kUnbounded ? "minProperties" : "maxProperties", at_,
                    "too many properties to count");
      min_ = 0;
      max_ = Languages::kUnbounded;
    }
    // From the end, so that the calls don't nest.
    for (auto i = members_.size(); i-- > 1;) {
      const auto max = std::min(i, max_);
      for (auto count = needed_[0] - needed_[i]; count <= max; ++count) {
        first(i, count);
        if (counted(count + 1) == counted(count)) break;
      }
    }
    const auto some = first(0, 0);
    const bool may_be_empty = min_ == 0 && needed_[0] == 0;
    if (!some && !may_be_empty) return std::nullopt;
    const auto members = some ? *some + (may_be_empty ? "?" : "") : "";
    return rules_.grammar().rule(fmt::format(R"("{{" {} {} {} "}}")", space_, members, space_));
  }

  // Without an upper limit, a count beyond the minimum is equivalent to the minimum.
  std::size_t counted(std::size_t count) const { return max_ == Languages::kUnbounded ? std::min(count, min_) : count; }

  // At least one member of those from `index` on, after `count` members. Alternatives share their ends, so the rules
  // grow with the number of members.
  Rule first(std::size_t index, std::size_t count) {
    count = counted(count);
    const auto key = std::pair(index, count);
    if (const auto known = firsts_.find(key); known != firsts_.end()) return known->second;
    std::vector<std::string> ways;
    if (count < max_ && index < members_.size()) {
      if (const auto more = after(index + 1, count + 1)) ways.push_back(members_[index].rule + " " + *more);
      const auto later = members_[index].required ? Rule() : first(index + 1, count);
      if (later) ways.push_back(*later);
    } else if (count < max_ && other_ && count + 1 >= min_) {
      const auto follow = rules_.grammar().rule(fmt::format(R"("," {} {})", space_, *other_));
      const auto max = max_ == Languages::kUnbounded ? max_ : max_ - count - 1;
      ways.push_back(*other_ + " " + rules_.grammar().repeat(follow, 0, max));
    }
    const auto made = ways.empty() ? Rule() : rules_.grammar().rule(fmt::format("{}", fmt::join(ways, " | ")));
    firsts_.emplace(key, made);
    return made;
  }

  // Any number of them, each with its comma.
  Rule after(std::size_t index, std::size_t count) {
    const auto more = first(index, count);
    const bool may_end = count >= min_ && needed_[index] == 0;
    if (!more) return may_end ? Rule("") : Rule();
    const auto follow = fmt::format(R"("," {} {})", space_, *more);
    return may_end ? "(" + follow + ")?" : follow;
  }

  SchemaRules& rules_;
  const Object& schema_;
  const std::string& at_;
  const std::string space_;
  std::size_t min_ = 0, max_ = Languages::kUnbounded;
  std::vector<Member> members_;      // listed ones
  std::vector<std::size_t> needed_;  // required ones from each on
  Rule other_;                       // a member with another name
  std::map<std::pair<std::size_t, std::size_t>, Rule> firsts_;
};

}  // namespace

SchemaRules::Rule object_rule(SchemaRules& rules, const Object& schema, const std::string& at) {
  return ObjectRule(rules, schema, at).make();
}

}  // namespace corral::json_schema
