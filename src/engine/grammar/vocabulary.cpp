#include "engine/grammar/vocabulary.h"

#include <algorithm>

namespace corral::engine {

GrammarVocabulary::GrammarVocabulary(std::uint32_t n_vocab, const Append& append, const Ends& ends) : ends_(n_vocab) {
  begins_.reserve(n_vocab + 1u);
  begins_.push_back(0);
  for (Token token = 0; static_cast<std::uint32_t>(token) < n_vocab; ++token) {
    append(token, bytes_);
    begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    ends_[static_cast<std::size_t>(token)] = ends(token);
  }
  sorted_.reserve(n_vocab);
  for (Token token = 0; static_cast<std::uint32_t>(token) < n_vocab; ++token) {
    if (const auto text = piece(token); !text.empty() && text.front() != '\0' && !this->ends(token))
      sorted_.push_back({token, 0});
  }
  std::ranges::sort(sorted_, {}, [&](const Entry& entry) { return piece(entry.token); });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    const auto text = piece(sorted_[i].token);
    const auto before = piece(sorted_[i - 1].token);
    const auto differs = std::ranges::mismatch(before, text);
    sorted_[i].shared = static_cast<std::uint32_t>(differs.in1 - before.begin());
  }
}

}  // namespace corral::engine
