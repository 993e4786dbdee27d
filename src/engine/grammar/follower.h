// One answer's way through its grammar, from where it begins to count: at once, or with a trigger. One thread at a
// time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/grammar/matcher.h"
#include "engine/grammar/trigger.h"

namespace corral::engine {

// What answers to the same request share. Making it takes time with the grammar's length; not for loops.
class SharedGrammar {
 public:
  // Errors: invalid_argument with `grammar` or `grammar_triggers`.
  static Result<std::shared_ptr<const SharedGrammar>> make(const GrammarOptions& options,
                                                           const GrammarVocabulary& vocabulary,
                                                           const FindToken& find_token);

 private:
  friend class GrammarFollower;
  SharedGrammar(std::shared_ptr<const Grammar> grammar, GrammarTriggers triggers, const GrammarOptions& options,
                const GrammarVocabulary& vocabulary);

  std::shared_ptr<const Grammar> grammar_;
  GrammarTriggers triggers_;
  bool lazy_;
  std::vector<Token> prefill_;
  const GrammarVocabulary& vocabulary_;
};

class GrammarFollower {
 public:
  // Throws as GrammarMatcher does, as all calls do.
  explicit GrammarFollower(std::shared_ptr<const SharedGrammar> shared);

  // It counts. Until then everything is allowed.
  bool counts() const { return !waiting_; }
  bool allows(Token token) { return waiting_ || matcher_.allows(token); }
  // Only where it counts.
  const std::vector<bool>& allowed() { return matcher_.allowed(); }
  void accept(Token token);

 private:
  const std::shared_ptr<const SharedGrammar> shared_;
  GrammarMatcher matcher_;
  bool waiting_;
  std::string answer_;  // while it waits: its end, where a trigger could be
  struct Piece {
    Token token;
    std::size_t begin;
  };
  std::vector<Piece> pieces_;
};

}  // namespace corral::engine
