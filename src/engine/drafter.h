// Guesses at a session's next tokens, which the model then checks several in one pass. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/types.h"

namespace corral::engine {

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Appends at most `most` tokens that may follow `history` to `to`; none if there is no good guess.
  virtual void draft(SessionId session, std::span<const Token> history, std::uint32_t most, std::vector<Token>& to) = 0;
  // Of the latest `drafted` guesses the first `accepted` were right, and the one behind them wrong. Guesses that
  // nothing could be learnt about (the answer ended before them) don't count.
  virtual void learn(SessionId session, std::uint32_t drafted, std::uint32_t accepted) = 0;
  // The session ended.
  virtual void forget(SessionId session) = 0;
  // Gives memory back at the cost of computing it again when it is needed.
  virtual void downsize() = 0;
};

}  // namespace corral::engine
