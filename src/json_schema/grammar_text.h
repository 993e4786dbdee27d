// Writes the rules of a grammar (GBNF). Rules with equal bodies are one rule.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "json_schema/automaton.h"
#include "json_schema/char_set.h"

namespace corral::json_schema {

// A text in GBNF: "a\"b" with its quotes.
std::string literal(std::string_view text);

// Thrown: too many rules.
struct GrammarTooLarge {};

class GrammarText {
 public:
  // Names of rules begin with `prefix`.
  explicit GrammarText(std::string_view prefix) : prefix_(prefix) {}

  // The name of a rule with this body.
  std::string rule(std::string body);
  // A name with a rule that is defined later, so that it can refer to itself.
  std::string reserve();
  void define(const std::string& name, std::string_view body);
  // One of space, char, string, number, integer, boolean, null, object, array, value.
  std::string builtin(std::string_view name);
  // `min` to `max` times; Languages::kUnbounded: no limit. `item` is the name of a rule.
  std::string repeat(const std::string& item, std::size_t min, std::size_t max);
  // The texts of an automaton as JSON strings with their quotes, or unchanged.
  std::string strings(const Automaton& automaton) { return automaton_rule(automaton, true); }
  std::string plain(const Automaton& automaton) { return automaton_rule(automaton, false); }

  const std::string& text() const { return text_; }

 private:
  std::string automaton_rule(const Automaton& automaton, bool quoted);
  // These characters inside a JSON string, escaped if necessary.
  std::string encoded(const CharSet& characters);

  const std::string prefix_;
  std::string text_;
  std::size_t count_ = 0;
  std::map<std::string, std::string, std::less<>> by_body_;
  std::map<std::string, std::string, std::less<>> builtins_;
  std::map<CharSet, std::string> encoded_;
};

}  // namespace corral::json_schema
