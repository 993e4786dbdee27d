#include "engine/prefix_cache.h"

namespace corral::engine {

std::vector<std::int32_t> PrefixCache::add(std::int32_t sequence, std::vector<Token> tokens) {
  if (tokens.empty() || tokens.size() > capacity_) return {sequence};
  std::vector<std::int32_t> freed;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const std::uint32_t shared = common_prefix(it->tokens, tokens);
    if (shared == tokens.size()) {  // known already
      entries_.splice(entries_.begin(), entries_, it);
      freed.push_back(sequence);
      return freed;
    }
    if (shared == it->tokens.size()) {
      freed.push_back(it->sequence);
      tokens_ -= shared;
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
  tokens_ += static_cast<std::uint32_t>(tokens.size());
  entries_.push_front({sequence, std::move(tokens)});
  while (tokens_ > capacity_) freed.push_back(*evict());
  return freed;
}

PrefixCache::Match PrefixCache::best(std::span<const Token> tokens) {
  auto found = entries_.end();
  std::uint32_t length = 0;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (const std::uint32_t shared = common_prefix(it->tokens, tokens); shared > length) {
      length = shared;
      found = it;
    }
  }
  if (found == entries_.end()) return {};
  entries_.splice(entries_.begin(), entries_, found);
  return {found->sequence, length};
}

std::optional<std::int32_t> PrefixCache::evict() {
  if (entries_.empty()) return std::nullopt;
  const std::int32_t sequence = entries_.back().sequence;
  tokens_ -= static_cast<std::uint32_t>(entries_.back().tokens.size());
  entries_.pop_back();
  return sequence;
}

}  // namespace corral::engine
