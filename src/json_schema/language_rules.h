// Grammar rules of languages. Equal languages are one rule, whose automaton is made once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "json_schema/grammar_text.h"
#include "json_schema/language.h"

namespace corral::json_schema {

class LanguageRules {
 public:
  // Both must outlive it.
  LanguageRules(Languages& languages, GrammarText& text);

  // The name of the rule of these texts: as JSON strings with their quotes, or unchanged. Nothing: no text belongs to
  // the language. Throw TooComplex, GrammarTooLarge.
  std::optional<std::string> strings(Language language);
  std::optional<std::string> plain(Language language);
  // Those of these lengths.
  std::optional<std::string> strings(Language language, std::size_t min, std::size_t max);
  // The rule of all JSON strings except these; linear in their length.
  std::string other_names(const std::set<std::string_view>& names);

 private:
  std::optional<std::string> rule(Language language, bool quoted);

  Languages& languages_;
  GrammarText& text_;
  const Language writable_;
  std::map<std::pair<Language, bool>, std::optional<std::string>> known_;
  std::set<Language> too_complex_;
  std::map<std::set<std::string>, std::string> other_names_;
  std::size_t counted_states_ = 0, counted_work_ = 0;  // of automata with lengths
  std::map<std::tuple<Language, std::size_t, std::size_t>, std::optional<std::string>> with_lengths_;
};

}  // namespace corral::json_schema
