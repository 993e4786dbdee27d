#include "json_schema/array_rules.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "json_schema/pointers.h"
#include "json_schema/types.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;
using Rule = SchemaRules::Rule;

constexpr std::size_t kMaxItemStates = 2000;  // of an array whose items are counted
constexpr std::size_t kMaxShuffled = 6;       // values that a list with uniqueItems may have in any order

class ArrayRule {
 public:
  ArrayRule(SchemaRules& rules, const Object& schema, const std::string& at)
      : rules_(rules),
        schema_(schema),
        at_(at),
        space_(rules.grammar().builtin("space")),
        separator_(fmt::format(R"("," {})", space_)),
        min_(count_of(schema, "minItems", 0)),
        max_(count_of(schema, "maxItems", Languages::kUnbounded)) {
    if (const auto* first = schema.if_contains("prefixItems")) prefix_ = &first->as_array();
    if (const auto* items = schema.if_contains("items")) items_ = *items;
  }

  Rule make() {
    if (min_ > max_) return std::nullopt;
    if (schema_.contains("uniqueItems") && max_ > 1) {
      if (const auto made = distinct()) return *made;
    }
    if (const auto* contains = schema_.if_contains("contains")) {
      const auto& list = contains->as_array();
      for (std::size_t i = 1; i < list.size(); ++i) rules_.report("contains", at_, "several of them can't be combined");
      if (const auto made = counted(list.front().as_object())) return *made;
    }
    if (!schema_.contains("prefixItems") && !schema_.contains("items") && min_ == 0 && max_ == Languages::kUnbounded) {
      return rules_.grammar().builtin("array");
    }
    return plain();
  }

 private:
  Rule whole(const std::string& body) {
    return rules_.grammar().rule(fmt::format(R"("[" {} {} {} "]")", space_, body, space_));
  }
  const Value& schema_of(std::size_t index) const { return index < prefix_->size() ? (*prefix_)[index] : items_; }
  std::string place_of(std::size_t index) const {
    return index < prefix_->size() ? fmt::format("{}/{}", pointer_to(at_, "prefixItems"), index)
                                   : pointer_to(at_, "items");
  }

  Rule plain() {
    std::vector<std::string> parts;
    const auto listed = std::min(prefix_->size(), max_);
    bool complete = true;
    for (std::size_t i = 0; i < listed && complete; ++i) {
      if (const auto rule = rules_.visit_inside(schema_of(i), place_of(i))) {
        parts.push_back(*rule);
      } else {
        complete = false;
      }
    }
    if (parts.size() < min_ && !complete) return std::nullopt;
    // Without `strict` a list of first items has no others unless the schema permits or requires them.
    const bool open =
        complete && (rules_.strict() || prefix_->empty() || schema_.contains("items") || min_ > parts.size());
    Rule item;
    if (open && max_ > parts.size()) item = rules_.visit_inside(items_, pointer_to(at_, "items"));
    if (!item && min_ > parts.size()) return std::nullopt;
    // From the last one on: each item needs those before it.
    const auto rest_min = min_ - std::min(min_, parts.size());
    const auto rest_max = max_ == Languages::kUnbounded ? max_ : max_ - parts.size();
    if (parts.empty()) return whole(item ? list_of(*item, rest_min, rest_max) : "");
    auto tail = item ? rules_.grammar().repeat(rules_.grammar().rule(separator_ + " " + *item), rest_min, rest_max)
                     : std::string();
    // Without `strict` all listed items are written.
    const auto needed = rules_.strict() ? min_ : parts.size();
    for (auto i = parts.size(); i-- > 0;) {
      auto one = fmt::format("{} {} {}", i == 0 ? "" : separator_, parts[i], tail);
      tail = rules_.grammar().rule(i < needed ? one : fmt::format("({})?", one));
    }
    return whole(tail);
  }

  std::string list_of(const std::string& item, std::size_t min, std::size_t max) {
    const auto follow = rules_.grammar().rule(separator_ + " " + item);
    const auto rest =
        rules_.grammar().repeat(follow, min == 0 ? 0 : min - 1, max == Languages::kUnbounded ? max : max - 1);
    return min == 0 ? fmt::format("({} {})?", item, rest) : fmt::format("{} {}", item, rest);
  }

  // Items of a list of values, each at most once. Nothing: not enforced.
  std::optional<Rule> distinct() {
    const auto values = prefix_->empty() ? rules_.listed_values(items_, pointer_to(at_, "items")) : std::nullopt;
    if (!values || schema_.contains("contains")) {
      rules_.report("uniqueItems", at_, "only for items that are listed in an enum");
      return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const auto& value : *values) texts.push_back(rules_.constant(value));
    if (min_ > texts.size()) return Rule();
    std::map<std::pair<std::size_t, std::size_t>, Rule> known;
    const bool shuffled = texts.size() <= kMaxShuffled;
    // Items behind those already `used`: their set, or, of many values, the number of the next one.
    const auto rest = [&](auto& self, std::size_t used, std::size_t count) -> Rule {
      const auto key =
          std::pair(used, shuffled ? 0 : std::min(count, std::max(min_, max_ == Languages::kUnbounded ? 0 : max_)));
      if (const auto found = known.find(key); found != known.end()) return found->second;
      std::vector<std::string> ways;
      for (std::size_t i = 0; i < texts.size() && count < max_; ++i) {
        if (shuffled ? (used >> i & 1) != 0 : i < used) continue;
        const auto next = self(self, shuffled ? used | std::size_t(1) << i : i + 1, count + 1);
        if (next) ways.push_back(fmt::format("{} {} {}", count == 0 ? "" : separator_, texts[i], *next));
      }
      if (count >= min_) ways.emplace_back("\"\"");
      const auto made = rules_.either(ways);
      known.emplace(key, made);
      return made;
    };
    const auto counts = 1 + std::max(min_, max_ == Languages::kUnbounded ? 0 : std::min(max_, texts.size()));
    if (!shuffled && texts.size() * texts.size() * counts > kMaxItemStates * 10) {
      rules_.report("uniqueItems", at_, "the list of values is too long");
      return std::nullopt;
    }
    const auto made = rest(rest, 0, 0);
    return made ? whole(*made) : Rule();
  }

  // An array with `contains`. Nothing: not enforced.
  std::optional<Rule> counted(const Object& contains) {
    const auto need = count_of(contains, "minContains", 1),
               limit = count_of(contains, "maxContains", Languages::kUnbounded);
    const auto& wanted = contains.at("schema");
    if (need == 0 && limit == Languages::kUnbounded) return std::nullopt;
    const bool bounded = limit != Languages::kUnbounded;
    const auto last = std::max({prefix_->size(), min_, max_ == Languages::kUnbounded ? 0 : max_});
    const auto max_found = bounded ? limit : need;
    if ((last + 1) * (max_found + 1) > kMaxItemStates || last > kMaxItemStates) {
      rules_.report("contains", at_, "the array is too long");
      return std::nullopt;
    }
    const auto at = pointer_to(at_, "contains");
    for (std::size_t i = 0; i <= prefix_->size(); ++i) {
      if (rules_.expands(Object{{"allOf", Array{schema_of(i), wanted}}}, at)) continue;
      rules_.report("contains", at_, "with the items it has too many alternatives");
      return std::nullopt;
    }
    std::map<std::size_t, std::pair<Rule, Rule>> items;  // one that is wanted, and another one
    const auto item = [&](std::size_t index) -> const std::pair<Rule, Rule>& {
      index = std::min(index, prefix_->size());
      const auto known = items.find(index);
      if (known != items.end()) return known->second;
      const auto& own = schema_of(index);
      const auto both = [&](const Value& more) {
        return own == Value(true) ? more : Value(Object{{"allOf", Array{own, more}}});
      };
      // By name: they are written for each state.
      const auto named = [&](Rule made) { return made ? Rule(rules_.grammar().rule(std::move(*made))) : made; };
      auto other = named(bounded ? rules_.visit_inside(both(Object{{"not", wanted}}), at)
                                 : rules_.visit_inside(own, place_of(index)));
      auto match = named(rules_.visit_inside(both(wanted), at));
      return items.emplace(index, std::pair(std::move(match), std::move(other))).first->second;
    };
    // States: the number of items and of wanted ones among them, as far as they count.
    using State = std::pair<std::size_t, std::size_t>;
    const auto state = [&](std::size_t index, std::size_t found) {
      if (max_ == Languages::kUnbounded) index = std::min(index, std::max<std::size_t>(last, 1));
      return State(index, bounded ? found : std::min(found, need));
    };
    const auto next = [&](const State& from) {
      std::vector<std::pair<Rule, State>> ways;
      if (from.first >= max_) return ways;
      const auto& [match, other] = item(from.first);
      if (match && (bounded ? from.second < limit : from.second < need)) {
        ways.emplace_back(match, state(from.first + 1, from.second + 1));
      }
      if (other) ways.emplace_back(other, state(from.first + 1, from.second));
      return ways;
    };
    std::map<State, bool> alive;  // an end can be reached
    const auto reachable = [&](auto& self, const State& from) -> bool {
      if (const auto known = alive.find(from); known != alive.end()) return known->second;
      alive[from] = from.first >= min_ && from.second >= need;
      for (const auto& [rule, to] : next(from)) {
        if (self(self, to)) alive[from] = true;
      }
      return alive[from];
    };
    std::map<State, std::string> names;
    const auto rest = [&](auto& self, const State& from) -> std::string {
      if (const auto known = names.find(from); known != names.end()) return known->second;
      const auto name = names[from] = rules_.grammar().reserve();  // it may refer to itself
      std::vector<std::string> ways;
      for (const auto& [rule, to] : next(from)) {
        if (!reachable(reachable, to)) continue;
        ways.push_back(fmt::format("{} {} {}", from.first == 0 ? "" : separator_, *rule, self(self, to)));
      }
      if (from.first >= min_ && from.second >= need) ways.emplace_back("\"\"");
      rules_.grammar().define(name, fmt::format("{}", fmt::join(ways, " | ")));
      return name;
    };
    const auto start = state(0, 0);
    return reachable(reachable, start) ? whole(rest(rest, start)) : Rule();
  }

  SchemaRules& rules_;
  const Object& schema_;
  const std::string& at_;
  const std::string space_, separator_;
  const std::size_t min_, max_;
  static inline const Array kNoItems = {};
  const Array* prefix_ = &kNoItems;
  Value items_ = true;
};

}  // namespace

SchemaRules::Rule array_rule(SchemaRules& rules, const Object& schema, const std::string& at) {
  return ArrayRule(rules, schema, at).make();
}

}  // namespace corral::json_schema
