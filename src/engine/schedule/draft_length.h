// How many draft tokens a pass gets: as many as give the most tokens per time. Pure.
//
// A draft token is useful only if all before it are accepted, so the k-th adds p1 * ... * pk tokens.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>

#include "engine/schedule/drafter.h"

namespace corral::engine {

// For one session, if drafting takes time too. `probability(i)`: acceptance of draft token i, from 0, if those before
// it are accepted. `each`: time of drafting one token, in passes of one row. 0: a pass without draft tokens is better.
template <std::invocable<std::uint32_t> Probability>
std::uint32_t draft_length(const DraftBudget& budget, double each, Probability probability) {
  // Without draft tokens, each row of the pass gives a token.
  double tokens = budget.rows, right = 1;
  double best_speed = tokens / budget.costs.of(budget.rows);
  const double drafting = each * budget.costs.of(1);
  std::uint32_t best = 0;
  for (std::uint32_t drafts = 1; drafts <= budget.max; ++drafts) {
    right *= probability(drafts - 1);
    tokens += right;
    const double speed = tokens / (budget.costs.of(budget.rows + drafts) + drafting * drafts);
    if (speed <= best_speed) continue;
    best_speed = speed;
    best = drafts;
  }
  return best;
}

// Most draft tokens in a pass with so many sessions: `each` in all, or one per session. The costs of more rows than
// PassCosts covers are not known.
constexpr std::uint32_t max_draft_tokens(std::uint32_t sessions, std::uint32_t each) {
  const std::uint32_t room = PassCosts::kMaxRows - std::min(PassCosts::kMaxRows, sessions);
  return each == 0 ? 0 : std::min(std::max(each, sessions), room);
}

// Draft tokens of one session of a pass.
struct DraftList {
  std::span<const DraftToken> drafts;  // available draft tokens
  std::uint32_t max = 0;               // most rows behind the session's own that fit into its cells
  std::uint32_t rows = 0;              // result: number of rows; draft tokens first, then padding rows
};

struct DraftLimits {
  std::uint32_t max = 0;  // most rows of draft tokens in the pass
  bool equal = false;     // all sessions must have equally many rows
};

// Sets `rows` of every list, for a pass with one row of each already: the most likely draft tokens of all sessions
// together.
void choose_drafts(std::span<DraftList> lists, const PassCosts& costs, const DraftLimits& limits);

// Moving average of how often something is true.
class Rate {
 public:
  explicit Rate(double value, double weight) : value_(value), weight_(weight) {}
  void learn(bool right) { value_ += weight_ * ((right ? 1.0 : 0.0) - value_); }
  double value() const { return value_; }

 private:
  double value_;
  double weight_;
};

}  // namespace corral::engine
