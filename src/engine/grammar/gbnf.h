// Parses GBNF, llama.cpp's grammar format, into a table of symbols. Accepts what libllama 0.5.0 accepts, with the same
// meaning. Pure functions; safe on every thread.
//
// The size of the result is limited: repetitions are expanded, so "x"{2000} is 2,000 symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/values/types.h"

namespace corral::engine {

// A rule is a sequence of alternatives: symbols, `alternative` between them, `end` behind the last.
struct GrammarSymbol {
  enum class Kind : std::uint8_t { end, alternative, rule, character, any, in_class, not_in_class, token, not_token };
  Kind kind = Kind::end;
  std::uint32_t value = 0;  // a rule, a code point, a class or a token, by the kind

  bool ends_sequence() const { return kind == Kind::end || kind == Kind::alternative; }
};

// Immutable; shared by all answers that follow it.
struct Grammar {
  using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // of code points, both ends inclusive

  std::vector<GrammarSymbol> symbols;
  std::vector<std::uint32_t> alternatives;  // where each begins in `symbols`, rule by rule
  std::vector<std::uint32_t> rules;         // where those of each rule begin in `alternatives`, and the end of all
  std::vector<Ranges> classes;              // sorted, without overlaps
  std::uint32_t root = 0;                   // a rule
  // Beyond ASCII: where ranges begin or end. Characters between two boundaries are equivalent for this grammar.
  std::vector<std::uint32_t> boundaries;

  std::span<const std::uint32_t> alternatives_of(std::uint32_t rule) const {
    return std::span(alternatives).subspan(rules[rule], rules[rule + 1] - rules[rule]);
  }
  // Characters of one column are equivalent for this grammar. Columns count from 0.
  std::size_t column(std::uint32_t code_point) const;
  bool matches(const GrammarSymbol& symbol, std::uint32_t code_point) const;
  // Whether a code point of this range can match.
  bool matches_any(const GrammarSymbol& symbol, std::uint32_t low, std::uint32_t high) const;
};

// Most symbols of a grammar with expanded repetitions.
inline constexpr std::size_t kMaxGrammarSymbols = 256 * 1024;
// Most nested parentheses: each level takes some of the stack.
inline constexpr std::size_t kMaxGrammarNesting = 512;
// Largest minimum of a repetition; a larger maximum is treated as none, as in libllama.
inline constexpr std::uint32_t kMaxRepetition = 2000;

// The one token for a text like "<|end|>"; none: there is none, or the text is several tokens.
using FindToken = std::function<std::optional<Token>(std::string_view text)>;

// Errors: invalid_argument, with line, column and rule.
Result<Grammar> parse_gbnf(std::string_view text, const FindToken& find_token);

}  // namespace corral::engine
