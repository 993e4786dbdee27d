// How many guesses a pass is worth: as many as give the most tokens for the time. Pure.
//
// A guess counts only if all before it were right, so the k-th gives p1 * ... * pk tokens.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>

#include "engine/schedule/drafter.h"

namespace corral::engine {

// For one session, where making guesses takes time too. `probability(i)`: that guess i, from 0, is right if those
// before it were. `each`: what making one takes, in passes of one row. 0: a pass is better without.
template <std::invocable<std::uint32_t> Probability>
std::uint32_t guess_length(const DraftBudget& budget, double each, Probability probability) {
  // Without guesses, each row of the pass gives a token.
  double tokens = budget.rows, right = 1;
  double best_speed = tokens / budget.costs.of(budget.rows);
  const double drafting = each * budget.costs.of(1);
  std::uint32_t best = 0;
  for (std::uint32_t drafts = 1; drafts <= budget.most; ++drafts) {
    right *= probability(drafts - 1);
    tokens += right;
    const double speed = tokens / (budget.costs.of(budget.rows + drafts) + drafting * drafts);
    if (speed <= best_speed) continue;
    best_speed = speed;
    best = drafts;
  }
  return best;
}

// In a pass with so many sessions, of which one alone may have `each`: as many for all, or one for each session. What
// more rows than PassCosts knows take, nobody can tell.
constexpr std::uint32_t max_guesses(std::uint32_t sessions, std::uint32_t each) {
  const std::uint32_t room = PassCosts::kMaxRows - std::min(PassCosts::kMaxRows, sessions);
  return each == 0 ? 0 : std::min(std::max(each, sessions), room);
}

// The guesses at one session of a pass.
struct GuessList {
  std::span<const DraftToken> drafts;  // that there are
  std::uint32_t most = 0;              // rows behind the session's own that its cells have room for
  std::uint32_t rows = 0;  // result: so many rows; the first guesses, and padding rows where there are fewer
};

struct GuessLimits {
  std::uint32_t most = 0;  // rows of guesses in the pass
  bool equal = false;      // each session must have as many rows as the others
};

// Chooses `rows` of every list, for a pass that has a row for each of them already: the best guesses of all sessions
// together.
void choose_guesses(std::span<GuessList> lists, const PassCosts& costs, const GuessLimits& limits);

// How often something is true, recent times counting most.
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
