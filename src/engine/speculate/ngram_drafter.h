// Drafter by n-gram lookup: finds where the last tokens of a session occurred before in its history, and proposes the
// tokens that followed there. The lookup costs next to nothing, and often is right if an answer repeats its prompt
// (code, quotes, tables) or itself.
//
// Every new token is compared with the token that the lookup would have proposed, even if it was not proposed. So the
// acceptance rate of each session is known before a draft token costs anything. Pure. One thread.
#pragma once

#include <array>
#include <unordered_map>

#include "engine/schedule/draft_length.h"
#include "engine/schedule/drafter.h"
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
  // Long matches are right much more often than short ones, so each length class has its own rate.
  static constexpr std::array<std::uint32_t, 5> kKinds = {2, 3, 4, 8, 16};  // shortest match of each class
  using Rates = std::array<Rate, kKinds.size()>;

  struct Text {
    explicit Text(const Rates& typical);
    std::array<NgramIndex, 3> indexes = {NgramIndex(4), NgramIndex(3), NgramIndex(2)};  // searched in this order
    Rates rates;
    NgramIndex::Match match;  // latest match
    std::size_t size = 0;     // size of the history at that match
  };
  static Rate& rate_of(Rates& rates, std::uint32_t length);
  void judge(Text& text, std::span<const Token> history);

  std::unordered_map<std::uint64_t, Text> texts_;
  Rates typical_;  // average of all sessions: start value of a new one
};

}  // namespace corral::engine
