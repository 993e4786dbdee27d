#include "json_schema/language_rules.h"

#include "json_schema/automaton.h"

namespace corral::json_schema {

// JSON can't contain halves of surrogate pairs.
LanguageRules::LanguageRules(Languages& languages, GrammarText& text)
    : languages_(languages),
      text_(text),
      writable_(
          languages.repeat(languages.set(CharSet({{0, 0xD7FF}, {0xE000, kLastCharacter}})), 0, Languages::kNoMost)) {}

std::optional<std::string> LanguageRules::strings(Language language) {
  return rule(languages_.both(language, writable_), true);
}

std::optional<std::string> LanguageRules::plain(Language language) { return rule(language, false); }

std::optional<std::string> LanguageRules::rule(Language language, bool quoted) {
  const std::pair key(language, quoted);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (too_complex_.contains(language)) throw TooComplex();
  try {
    const auto automaton = Automaton::make(languages_, language);
    std::optional<std::string> name;
    if (!automaton.states.empty()) name = quoted ? text_.strings(automaton) : text_.plain(automaton);
    return known_.emplace(key, std::move(name)).first->second;
  } catch (const TooComplex&) {
    too_complex_.insert(language);
    throw;
  }
}

}  // namespace corral::json_schema
