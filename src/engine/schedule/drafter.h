// Proposes draft tokens for a session, which the model then verifies in one pass. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/pass_costs.h"
#include "engine/values/types.h"

namespace corral::engine {

struct DraftToken {
  Token token = kNoToken;
  double probability = 0;  // of acceptance, if those before it are accepted
};

// The pass for which the draft is made.
struct DraftBudget {
  std::uint32_t max = 0;   // most draft tokens of one session
  std::uint32_t rows = 1;  // rows of the pass without draft tokens
  const PassCosts& costs;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Appends draft tokens behind `history` to `to`; none if there is no proposal, or if a proposal costs more than it
  // gains. The history shows whether earlier drafts were right, used or not.
  virtual void draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
                     std::vector<DraftToken>& to) = 0;
  // The session ended.
  virtual void forget(SessionId session) = 0;
  // Frees memory, which is computed again when needed.
  virtual void downsize() = 0;
};

}  // namespace corral::engine
