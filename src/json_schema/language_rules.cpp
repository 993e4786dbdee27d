#include "json_schema/language_rules.h"

#include "json_schema/automaton.h"
#include "json_schema/text.h"

namespace corral::json_schema {
namespace {

constexpr std::size_t kMaxCountedStates = 25'000;  // in all: a part of what a grammar may have
constexpr std::size_t kMaxCountedWork = 250'000;   // the same with those of attempts that fail

}  // namespace

// JSON can't contain halves of surrogate pairs.
LanguageRules::LanguageRules(Languages& languages, GrammarText& text)
    : languages_(languages),
      text_(text),
      writable_(languages.repeat(languages.set(CharSet({{0, 0xD7FF}, {0xE000, kLastCharacter}})), 0,
                                 Languages::kUnbounded)) {}

std::optional<std::string> LanguageRules::strings(Language language) {
  return rule(languages_.both(language, writable_), true);
}

std::optional<std::string> LanguageRules::plain(Language language) { return rule(language, false); }

std::optional<std::string> LanguageRules::strings(Language language, std::size_t min, std::size_t max) {
  const std::tuple key(language, min, max);
  if (const auto known = with_lengths_.find(key); known != with_lengths_.end()) return known->second;
  const auto left = kMaxCountedStates - counted_states_;
  if (left == 0 || counted_work_ > kMaxCountedWork) throw TooComplex();
  Automaton automaton;
  try {
    automaton = Automaton::make(languages_, languages_.both(language, writable_)).within(min, max, left);
  } catch (const TooComplex&) {
    counted_work_ += left;
    throw;
  }
  counted_states_ += automaton.states.size();
  counted_work_ += automaton.states.size();
  std::optional<std::string> name;
  if (!automaton.states.empty()) name = text_.strings(automaton);
  return with_lengths_.emplace(key, std::move(name)).first->second;
}

std::string LanguageRules::other_names(const std::set<std::string_view>& names) {
  std::set<std::string> key(names.begin(), names.end());
  if (const auto known = other_names_.find(key); known != other_names_.end()) return known->second;
  const CharSet all({{0, 0xD7FF}, {0xE000, kLastCharacter}});
  // A tree of the names; the first state is its root, the second one is outside of it.
  std::vector<std::map<char32_t, std::size_t>> tree(2);
  Automaton automaton;
  automaton.states.resize(2);
  for (auto& state : automaton.states) state.may_end = true;
  for (const auto& name : key) {
    std::size_t at = 0;
    for (const auto character : characters_of(name)) {
      const auto [next, fresh] = tree[at].emplace(character, tree.size());
      at = next->second;
      if (!fresh) continue;
      tree.emplace_back();
      automaton.states.emplace_back().may_end = true;
    }
    automaton.states[at].may_end = false;
  }
  for (std::size_t at = 0; at < tree.size(); ++at) {
    std::vector<CharSet::Range> inside;
    for (const auto& [character, to] : tree[at]) {
      inside.emplace_back(character, character);
      automaton.states[at].next.emplace_back(CharSet::one(character), to);
    }
    automaton.states[at].next.emplace_back(all & ~CharSet(std::move(inside)), 1);
  }
  return other_names_.emplace(std::move(key), text_.strings(automaton)).first->second;
}

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
