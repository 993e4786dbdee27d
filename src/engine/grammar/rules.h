// Rules of a grammar during parsing, and the table made of them. Used by parse_gbnf() only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/grammar/gbnf.h"

namespace corral::engine {

// Exception: why a text is not a grammar, and the byte position.
struct GrammarFault {
  std::size_t at;
  std::string reason;
};

// Alternatives with `alternative` between them and `end` behind the last.
using GrammarRule = std::vector<GrammarSymbol>;

class GrammarRules {
 public:
  // The rule of this name, found at a byte of the text; its definition may follow later.
  std::uint32_t named(std::string_view name, std::size_t at);
  // A rule without a name in the text.
  std::uint32_t unnamed(std::size_t at);
  void define(std::uint32_t id, GrammarRule rule) { rules_[id] = std::move(rule); }
  // Class of the characters in these ranges, which may overlap; returns the number of the class.
  std::uint32_t add_class(Grammar::Ranges ranges);

  // All rules in one table; `text_size` is the position of faults of the whole text. Throws GrammarFault: a rule that
  // is used but not defined, no root, left recursion.
  Grammar table(std::size_t text_size) &&;

 private:
  void refuse_missing(std::size_t text_size) const;
  void refuse_left_recursion() const;
  std::vector<bool> empty_rules() const;
  std::vector<std::uint32_t> beginnings(std::uint32_t id, const std::vector<bool>& may_be_empty) const;
  std::string name_of(std::uint32_t id) const;
  Grammar lay_out() &&;

  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<GrammarRule> rules_;
  std::vector<std::size_t> seen_at_;  // first position of each rule
  std::vector<Grammar::Ranges> classes_;
};

}  // namespace corral::engine
