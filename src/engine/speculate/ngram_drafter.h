// Guesses by looking up: where the last tokens of a session stood before in it, what followed there may follow again.
// That costs next to nothing and is often right where an answer repeats its prompt (code, quotes, tables) or itself.
//
// Every token that comes is compared with the one that would have been guessed, whether it was or not. So how far
// guesses can be trusted is known for each session before any is paid for. Pure. One thread.
#pragma once

#include <array>
#include <unordered_map>

#include "engine/schedule/drafter.h"
#include "engine/schedule/guess_length.h"
#include "engine/speculate/ngram_index.h"

namespace corral::engine {

class NgramDrafter final : public Drafter {
 public:
  NgramDrafter();
  void draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
             std::vector<DraftToken>& to) override;
  void forget(SessionId session) override { texts_.erase(session.value()); }
  void downsize() override { texts_.clear(); }

  std::size_t sessions() const { return texts_.size(); }

 private:
  // Long matches are right far more often than short ones, so each kind has a rate of its own.
  static constexpr std::array<std::uint32_t, 5> kKinds = {2, 3, 4, 8, 16};  // the shortest match of each
  using Rates = std::array<Rate, kKinds.size()>;

  struct Text {
    explicit Text(const Rates& typical);
    std::array<NgramIndex, 3> indexes = {NgramIndex(4), NgramIndex(3), NgramIndex(2)};  // asked in this order
    Rates rates;
    NgramIndex::Match match;  // the latest
    std::size_t size = 0;     // of the history then
  };
  static Rate& rate_of(Rates& rates, std::uint32_t length);
  void judge(Text& text, std::span<const Token> history);

  std::unordered_map<std::uint64_t, Text> texts_;
  Rates typical_;  // of all sessions: where a new one begins
};

}  // namespace corral::engine
