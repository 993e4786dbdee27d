// Where an answer stands in its grammar: which tokens can come next, and what becomes of it when one has come.
//
// A stack is what is still to come, from the top; an answer can be read in several ways, so there are several. Stacks
// share their lower parts. A set of stacks is a state; what a character makes of a state is remembered, so that a token
// costs a few nanoseconds a byte. How many stacks there can be, and the work for one token, is bounded: a grammar that
// can be read in very many ways ends its answer with an error instead of keeping the others waiting.
//
// One answer each, used on one thread at a time.
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
  std::uint64_t steps = 1'500'000;     // pushes and pops for one call; about 10 ns each
  std::uint32_t kept_stacks = 32'768;  // remembered; beyond that they are forgotten and found again
};

class GrammarMatcher {
 public:
  // Throws what calls throw. Both must outlive it.
  GrammarMatcher(std::shared_ptr<const Grammar> grammar, const GrammarVocabulary& vocabulary,
                 MatcherLimits limits = {});

  // Calls below throw std::runtime_error, with a text for people, where a limit is met; and accept() where `text` isn't
  // allowed.
  bool allows(Token token);
  // One flag for each token of the vocabulary.
  const std::vector<bool>& allowed();
  // The answer goes on with this token. `text`: its part that counts, where it isn't all.
  void accept(Token token);
  void accept(Token token, std::string_view text);
  // The answer may end here.
  bool may_end() const { return states_[now_.state].may_end; }

 private:
  static constexpr std::uint32_t kBottom = 0;            // the empty stack
  static constexpr std::uint32_t kDead = 0xFFFFFFFF;     // no state: nothing can come
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFE;  // not looked at yet

  struct Stack {
    std::uint32_t symbol;  // of the grammar: what comes next
    std::uint32_t below;   // the rest
  };
  struct State {
    std::vector<std::uint32_t> stacks;  // sorted; at the top of each a character or a token, or it is empty
    bool may_end = false;
    bool has_tokens = false;
    std::vector<std::uint32_t> next = {};  // by column of the character; empty until the first is known
  };
  // Amid a text: a character may be begun.
  struct Place {
    std::uint32_t state = kDead;
    std::uint32_t value = 0;
    std::uint8_t missing = 0;  // bytes of the character
    std::uint8_t length = 0;   // of them all
  };

  std::uint32_t push(std::uint32_t symbol, std::uint32_t below);
  // Adds what `stack` becomes once rules are replaced by what they are.
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
  std::size_t forget_at_ = 0;  // once there are so many
  Place now_;
  std::uint64_t spent_ = 0;
  // Kept to be used again.
  std::vector<std::uint32_t> todo_, expanded_;
  std::vector<std::uint32_t> seen_;  // by stack: the last expansion that met it
  std::uint32_t expansion_ = 0;
  std::vector<Place> walk_;
  std::vector<bool> allowed_;
};

}  // namespace corral::engine
