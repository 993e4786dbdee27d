// Guesses by looking up: where the last tokens of a session stood before in it, what followed there may follow again.
// That costs next to nothing and is often right where an answer repeats its prompt (code, quotes, tables) or itself.
// Pure. One thread.
#pragma once

#include <array>
#include <unordered_map>

#include "engine/drafter.h"
#include "engine/guess_length.h"
#include "engine/ngram_index.h"

namespace corral::engine {

class NgramDrafter final : public Drafter {
 public:
  explicit NgramDrafter(GuessCosts costs) : costs_(costs) {}

  void draft(SessionId session, std::span<const Token> history, std::uint32_t most, std::vector<Token>& to) override;
  void learn(SessionId session, std::uint32_t drafted, std::uint32_t accepted) override;
  void forget(SessionId session) override { texts_.erase(session.value()); }
  void downsize() override { texts_.clear(); }

  std::size_t sessions() const { return texts_.size(); }

 private:
  // Long matches are right far more often than short ones, so each kind has a rate of its own.
  static constexpr std::array<std::uint32_t, 4> kKinds = {2, 3, 4, 8};  // the shortest match of each

  struct Text {
    explicit Text(GuessCosts costs)
        : lengths{GuessLength(costs), GuessLength(costs), GuessLength(costs), GuessLength(costs)} {}
    std::array<NgramIndex, 3> indexes = {NgramIndex(4), NgramIndex(3), NgramIndex(2)};  // asked in this order
    std::array<GuessLength, kKinds.size()> lengths;
    std::size_t kind = 0;  // of the latest guess
  };

  const GuessCosts costs_;
  std::unordered_map<std::uint64_t, Text> texts_;
};

}  // namespace corral::engine
