// Position of a generation in its grammar: which tokens may come next, and the new position after a token.
//
// A stack holds the symbols that are still to come, the next one on top. An ambiguous grammar has several parses, so
// there are several stacks. Stacks share their lower parts. A set of stacks is a state. Transitions from states are
// cached, so a token costs a few nanoseconds per byte. The number of stacks and the work per token are limited: a
// grammar that is too ambiguous ends its generation with an error and does not delay others.
//
// One generation each; used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/grammar/gbnf.h"
#include "engine/grammar/vocabulary.h"

namespace corral::engine {

struct MatcherLimits {
  std::uint32_t stacks = 4096;         // of one state
  std::uint64_t steps = 1'500'000;     // pushes and pops of one call; about 10 ns each
  std::uint32_t kept_stacks = 32'768;  // cached; above this the cache is cleared
};

class GrammarMatcher {
 public:
  // Throws what the other calls throw. The vocabulary must outlive the matcher.
  GrammarMatcher(std::shared_ptr<const Grammar> grammar, const GrammarVocabulary& vocabulary,
                 MatcherLimits limits = {});

  // The calls below throw std::runtime_error with a message when a limit is reached, and accept() if `text` is not
  // allowed.
  bool allows(Token token);
  // One flag for each token of the vocabulary.
  const std::vector<bool>& allowed();
  // Appends this token. `text`: its part that the grammar covers, if not all.
  void accept(Token token);
  void accept(Token token, std::string_view text);
  // The text may end here.
  bool may_end() const { return states_[now_.state].may_end; }

 private:
  static constexpr std::uint32_t kBottom = 0;            // the empty stack
  static constexpr std::uint32_t kDead = 0xFFFFFFFF;     // no state: no continuation
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFE;  // not computed yet

  struct Stack {
    std::uint32_t symbol;  // of the grammar: the next one
    std::uint32_t below;   // the rest
  };
  struct State {
    std::vector<std::uint32_t> stacks;  // sorted; each has a character or token on top, or is empty
    bool may_end = false;
    bool has_tokens = false;
    std::vector<std::uint32_t> next = {};  // by column of the character; empty until the first one is known
  };
  // Position inside a text, possibly inside a character.
  struct Place {
    std::uint32_t state = kDead;
    std::uint32_t value = 0;
    std::uint8_t missing = 0;  // missing bytes of the character
    std::uint8_t length = 0;   // all its bytes
  };

  std::uint32_t push(std::uint32_t symbol, std::uint32_t below);
  // Adds `stack` with the rules on top expanded.
  void expand(std::uint32_t stack);
  std::uint32_t make_state();  // of expanded_
  std::uint32_t step(std::uint32_t state, std::uint32_t code_point);
  Place step(Place place, unsigned char byte);
  bool can_complete(const Place& place) const;
  std::uint32_t after_token(std::uint32_t state, Token token);
  void spend();
  std::uint32_t find_or_add(std::uint32_t symbol, std::uint32_t below);
  void begin_call();
  void forget();

  const std::shared_ptr<const Grammar> grammar_;
  const GrammarVocabulary& vocabulary_;
  const MatcherLimits limits_;
  std::vector<Stack> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> stack_ids_;
  std::vector<State> states_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> state_ids_;
  std::size_t held_ = 0;       // stacks in all states together
  std::size_t forget_at_ = 0;  // limit for the next clearing
  Place now_;
  std::uint64_t spent_ = 0;
  // Reused memory.
  std::vector<std::uint32_t> todo_, expanded_;
  std::vector<std::uint32_t> seen_;  // by stack: the last expansion that met it
  std::uint32_t expansion_ = 0;
  std::vector<Place> walk_;
  std::vector<bool> allowed_;
};

}  // namespace corral::engine
