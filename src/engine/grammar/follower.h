// Applies a grammar to one generation, from the start or from a trigger on. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/grammar/matcher.h"
#include "engine/grammar/trigger.h"

namespace corral::engine {

// Parts of a grammar that all choices of a request share. make() takes time with the length of the grammar; not for
// loops.
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
  // All calls throw as those of GrammarMatcher.
  explicit GrammarFollower(std::shared_ptr<const SharedGrammar> shared);

  // The grammar applies. Before its trigger, everything is allowed.
  bool counts() const { return !waiting_; }
  bool allows(Token token) { return waiting_ || matcher_.allows(token); }
  // Requires counts().
  const std::vector<bool>& allowed() { return matcher_.allowed(); }
  void accept(Token token);

 private:
  const std::shared_ptr<const SharedGrammar> shared_;
  GrammarMatcher matcher_;
  bool waiting_;
  std::string answer_;  // while waiting: the end of the text, where a trigger may match
  struct Piece {
    Token token;
    std::size_t begin;
  };
  std::vector<Piece> pieces_;
};

}  // namespace corral::engine
