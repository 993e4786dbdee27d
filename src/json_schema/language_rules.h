// Grammar rules of languages. Equal languages are one rule, whose automaton is made once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
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

 private:
  std::optional<std::string> rule(Language language, bool quoted);

  Languages& languages_;
  GrammarText& text_;
  const Language writable_;
  std::map<std::pair<Language, bool>, std::optional<std::string>> known_;
  std::set<Language> too_complex_;
};

}  // namespace corral::json_schema
