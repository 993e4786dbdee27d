// A language as a deterministic automaton: from each state a set of characters leads to one other state. Only states
// from which an end can be reached.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "json_schema/char_set.h"
#include "json_schema/language.h"

namespace corral::json_schema {

struct Automaton {
  struct State {
    bool may_end = false;
    std::vector<std::pair<CharSet, std::size_t>> next;
  };
  std::vector<State> states;  // the first one is the start; empty: no text belongs to the language

  // Throws TooComplex.
  static Automaton make(Languages& languages, Language language);
  // Its texts of these lengths. Throws TooComplex if it needs more than `max_states`.
  Automaton within(std::size_t min, std::size_t max, std::size_t max_states) const;

 private:
  // Without states from which no end can be reached.
  static Automaton trimmed(std::vector<State> states);
};

}  // namespace corral::json_schema
