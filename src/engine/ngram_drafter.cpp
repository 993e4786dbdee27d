#include "engine/ngram_drafter.h"

#include <algorithm>

namespace corral::engine {

void NgramDrafter::draft(SessionId session, std::span<const Token> history, std::uint32_t most,
                         std::vector<Token>& to) {
  Text& text = texts_.try_emplace(session.value(), costs_).first->second;
  for (NgramIndex& index : text.indexes) index.update(history);
  NgramIndex::Match match;
  for (const NgramIndex& index : text.indexes) {
    match = index.longest(history);
    if (match.length > 0) break;
  }
  if (match.length == 0) return;
  const auto longer = std::ranges::upper_bound(kKinds, match.length);
  text.kind = static_cast<std::size_t>(longer - kKinds.begin()) - 1;
  // Beyond the end of the history its own continuation is copied: that is how a loop goes on.
  const std::size_t distance = history.size() - match.end;
  std::uint32_t guesses = text.lengths[text.kind].next(most);
  for (std::size_t from = match.end; guesses > 0; --guesses, ++from)
    to.push_back(from < history.size() ? history[from] : to[to.size() - distance]);
}

void NgramDrafter::learn(SessionId session, std::uint32_t drafted, std::uint32_t accepted) {
  const auto text = texts_.find(session.value());
  if (text != texts_.end()) text->second.lengths[text->second.kind].learn(drafted, accepted);
}

}  // namespace corral::engine
