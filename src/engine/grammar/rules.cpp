// Builds the table of a grammar from its rules, and answers questions about characters.
#include "engine/grammar/rules.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace corral::engine {
namespace {

using Kind = GrammarSymbol::Kind;

constexpr std::uint32_t kAscii = 128;

// Sorts ranges and joins overlaps. Drops ranges that end before they begin.
Grammar::Ranges merged(Grammar::Ranges ranges) {
  std::erase_if(ranges, [](const auto& range) { return range.first > range.second; });
  std::ranges::sort(ranges);
  Grammar::Ranges all;
  for (const auto& range : ranges) {
    if (!all.empty() && range.first <= all.back().second) {
      all.back().second = std::max(all.back().second, range.second);
    } else {
      all.push_back(range);
    }
  }
  return all;
}

bool in(const Grammar::Ranges& ranges, std::uint32_t low, std::uint32_t high) {
  const auto range = std::ranges::lower_bound(ranges, low, {}, &std::pair<std::uint32_t, std::uint32_t>::second);
  return range != ranges.end() && range->first <= high;
}

}  // namespace

std::uint32_t GrammarRules::named(std::string_view name, std::size_t at) {
  const auto [found, added] = ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(rules_.size()));
  if (added) unnamed(at);
  return found->second;
}

std::uint32_t GrammarRules::unnamed(std::size_t at) {
  rules_.emplace_back();
  seen_at_.push_back(at);
  return static_cast<std::uint32_t>(rules_.size() - 1);
}

std::uint32_t GrammarRules::add_class(Grammar::Ranges ranges) {
  classes_.push_back(merged(std::move(ranges)));
  return static_cast<std::uint32_t>(classes_.size() - 1);
}

Grammar GrammarRules::table(std::size_t text_size) && {
  refuse_missing(text_size);
  refuse_left_recursion();
  return std::move(*this).lay_out();
}

void GrammarRules::refuse_missing(std::size_t text_size) const {
  for (const auto& [name, id] : ids_) {
    if (!rules_[id].empty()) continue;
    const auto shown = name.substr(0, 60);
    throw GrammarFault{seen_at_[id],
                       fmt::format("the rule '{}' is used but not defined: add '{} ::= …'", shown, shown)};
  }
  if (!ids_.contains("root"))
    throw GrammarFault{text_size, "there is no rule 'root', the start of the grammar: add one"};
}

Grammar GrammarRules::lay_out() && {
  Grammar grammar;
  grammar.root = ids_.at("root");
  grammar.classes = std::move(classes_);
  auto& bounds = grammar.boundaries;
  for (const auto& ranges : grammar.classes) {
    for (const auto& [low, high] : ranges) bounds.insert(bounds.end(), {low, high + 1});
  }
  std::size_t symbols = 0;
  for (const auto& rule : rules_) symbols += rule.size();
  grammar.symbols.reserve(symbols);
  for (const auto& rule : rules_) {
    grammar.rules.push_back(static_cast<std::uint32_t>(grammar.alternatives.size()));
    bool begins = true;
    for (const auto& symbol : rule) {
      if (begins) grammar.alternatives.push_back(static_cast<std::uint32_t>(grammar.symbols.size()));
      begins = symbol.kind == Kind::alternative;
      if (symbol.kind == Kind::character) bounds.insert(bounds.end(), {symbol.value, symbol.value + 1});
      grammar.symbols.push_back(symbol);
    }
  }
  grammar.rules.push_back(static_cast<std::uint32_t>(grammar.alternatives.size()));
  std::erase_if(bounds, [](std::uint32_t bound) { return bound <= kAscii; });
  std::ranges::sort(bounds);
  bounds.erase(std::ranges::unique(bounds).begin(), bounds.end());
  return grammar;
}

std::vector<bool> GrammarRules::empty_rules() const {
  std::vector<bool> may_be_empty(rules_.size());
  for (std::size_t id = 0; id < rules_.size(); ++id) {
    const auto& rule = rules_[id];
    for (std::size_t i = 0; i < rule.size(); ++i) {
      if (rule[i].ends_sequence() && (i == 0 || rule[i - 1].ends_sequence())) may_be_empty[id] = true;
    }
  }
  return may_be_empty;
}

// Rules with which an alternative of this rule can begin. As in libllama, only a rule with an empty alternative of its
// own is skipped over; other empty rules lead to the same stack and are found there.
std::vector<std::uint32_t> GrammarRules::beginnings(std::uint32_t id, const std::vector<bool>& may_be_empty) const {
  std::vector<std::uint32_t> all;
  bool beginning = true;
  for (const auto& symbol : rules_[id]) {
    if (symbol.ends_sequence()) {
      beginning = true;
    } else if (symbol.kind == Kind::rule && beginning) {
      all.push_back(symbol.value);
      beginning = may_be_empty[symbol.value];
    } else {
      beginning = false;
    }
  }
  return all;
}

std::string GrammarRules::name_of(std::uint32_t id) const {
  const auto named = std::ranges::find(ids_, id, [](const auto& one) { return one.second; });
  return named == ids_.end() ? "this expression" : "the rule '" + named->first.substr(0, 60) + "'";
}

void GrammarRules::refuse_left_recursion() const {
  const std::vector<bool> may_be_empty = empty_rules();
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(rules_.size(), Mark::fresh);
  struct Visit {
    std::uint32_t id;
    std::vector<std::uint32_t> next;
  };
  for (std::uint32_t first = 0; first < rules_.size(); ++first) {
    std::vector<Visit> path;
    const auto open = [&](std::uint32_t id) {
      marks[id] = Mark::open;
      path.push_back({id, beginnings(id, may_be_empty)});
    };
    if (marks[first] == Mark::fresh) open(first);
    while (!path.empty()) {
      auto& top = path.back();
      if (top.next.empty()) {
        marks[top.id] = Mark::done;
        path.pop_back();
        continue;
      }
      const auto next = top.next.back();
      top.next.pop_back();
      if (marks[next] == Mark::fresh) {
        open(next);
      } else if (marks[next] == Mark::open) {
        throw GrammarFault{
            seen_at_[next],
            fmt::format("{} begins with itself (left recursion): let it begin with something else", name_of(next))};
      }
    }
  }
}

std::size_t Grammar::column(std::uint32_t code_point) const {
  if (code_point < kAscii) return code_point;
  return kAscii + static_cast<std::size_t>(std::ranges::upper_bound(boundaries, code_point) - boundaries.begin());
}

bool Grammar::matches(const GrammarSymbol& symbol, std::uint32_t code_point) const {
  switch (symbol.kind) {
    case Kind::character:
      return symbol.value == code_point;
    case Kind::any:
      return true;
    case Kind::in_class:
      return in(classes[symbol.value], code_point, code_point);
    case Kind::not_in_class:
      return !in(classes[symbol.value], code_point, code_point);
    default:
      return false;
  }
}

bool Grammar::matches_any(const GrammarSymbol& symbol, std::uint32_t low, std::uint32_t high) const {
  switch (symbol.kind) {
    case Kind::character:
      return low <= symbol.value && symbol.value <= high;
    case Kind::any:
      return true;
    case Kind::in_class:
      return in(classes[symbol.value], low, high);
    case Kind::not_in_class:  // as in libllama: no match if the class reaches into the range
      return !in(classes[symbol.value], low, high);
    default:
      return false;
  }
}

}  // namespace corral::engine
