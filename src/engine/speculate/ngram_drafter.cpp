#include "engine/speculate/ngram_drafter.h"

#include <algorithm>

namespace corral::engine {
namespace {

constexpr double kOfSession = 0.1, kOfAll = 0.01;  // weight of one token

}  // namespace

NgramDrafter::NgramDrafter()
    : typical_{Rate(0.2, kOfAll), Rate(0.3, kOfAll), Rate(0.5, kOfAll), Rate(0.7, kOfAll), Rate(0.9, kOfAll)} {}

NgramDrafter::Text::Text(const Rates& typical) : rates(typical) {
  for (Rate& rate : rates) rate = Rate(rate.value(), kOfSession);
}

Rate& NgramDrafter::rate_of(Rates& rates, std::uint32_t length) {
  const auto longer = std::ranges::upper_bound(kKinds, length);
  return rates[static_cast<std::size_t>(longer - kKinds.begin()) - 1];
}

// Compares the tokens that the latest match proposes with those that followed.
void NgramDrafter::judge(Text& text, std::span<const Token> history) {
  if (text.match.length == 0) return;
  for (std::uint32_t i = 0; i < NgramIndex::kLongest && text.size + i < history.size(); ++i) {
    const bool right = history[text.size + i] == history[text.match.end + i];
    rate_of(text.rates, text.match.length + i).learn(right);
    rate_of(typical_, text.match.length + i).learn(right);
    if (!right) break;
  }
}

void NgramDrafter::draft(SessionId session, std::span<const Token> history, const DraftBudget& budget,
                         std::vector<DraftToken>& to) {
  Text& text = texts_.try_emplace(session.value(), typical_).first->second;
  for (NgramIndex& index : text.indexes) index.update(history);
  judge(text, history);
  text.size = history.size();
  for (const NgramIndex& index : text.indexes) {
    text.match = index.longest(history);
    if (text.match.length > 0) break;
  }
  if (text.match.length == 0) return;
  // Beyond the end of the history it repeats its own draft: a loop continues.
  const std::size_t distance = history.size() - text.match.end;
  for (std::uint32_t i = 0; i < budget.max; ++i) {
    const std::size_t from = text.match.end + i;
    to.push_back({.token = from < history.size() ? history[from] : to[to.size() - distance].token,
                  .probability = rate_of(text.rates, text.match.length + i).value()});
  }
}

}  // namespace corral::engine
