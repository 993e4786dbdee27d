// Guesses at a session's next tokens, which the model then checks several in one pass. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/pass_costs.h"
#include "engine/values/types.h"

namespace corral::engine {

struct DraftToken {
  Token token = kNoToken;
  double probability = 0;  // that it is right if those before it were
};

// The pass that guesses would be added to.
struct DraftBudget {
  std::uint32_t most = 0;  // guesses at one session
  std::uint32_t rows = 1;  // in the pass without them
  const PassCosts& costs;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Appends tokens that may follow `history` to `to`; none if there is no guess, or making one takes more than it can
  // give. Whether earlier guesses were right is seen from the history, whether they were used or not.
  virtual void draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
                     std::vector<DraftToken>& to) = 0;
  // The session ended.
  virtual void forget(SessionId session) = 0;
  // Gives memory back at the cost of computing it again when it is needed.
  virtual void downsize() = 0;
};

}  // namespace corral::engine
