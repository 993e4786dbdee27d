#include "engine/speculate/ngram_index.h"

#include <algorithm>
#include <bit>

namespace corral::engine {
namespace {

constexpr std::uint32_t kMaxPlaces = 16;
constexpr std::size_t kFewestSlots = 256;

std::uint32_t common_end(std::span<const Token> tokens, std::uint32_t end) {
  const std::uint32_t max = std::min(end, NgramIndex::kLongest);
  std::uint32_t length = 0;
  while (length < max && tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) ++length;
  return length;
}

}  // namespace

std::size_t NgramIndex::slot(std::span<const Token> tokens, std::uint32_t end) const {
  std::uint64_t hash = n_;
  for (const Token token : tokens.subspan(end - n_, n_)) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash & (latest_.size() - 1);
}

void NgramIndex::update(std::span<const Token> tokens) {
  const auto size = static_cast<std::uint32_t>(tokens.size());
  if (size > latest_.size()) {
    latest_.assign(std::max(kFewestSlots, std::bit_ceil(tokens.size()) * 2), 0);
    next_ = n_;
  }
  next_ = std::min(next_, std::max(n_, size));
  if (before_.size() < size) before_.resize(std::max<std::size_t>(size, before_.size() * 2));
  // The end of the list is not added: no token follows it yet.
  for (; next_ < size; ++next_) {
    std::uint32_t& latest = latest_[slot(tokens, next_)];
    before_[next_] = latest;
    latest = next_;
  }
}

NgramIndex::Match NgramIndex::longest(std::span<const Token> tokens) const {
  Match best;
  const auto size = static_cast<std::uint32_t>(tokens.size());
  if (size <= n_ || latest_.empty()) return best;
  std::uint32_t end = latest_[slot(tokens, size)];
  for (std::uint32_t places = 0; end != 0 && places < kMaxPlaces && best.length < kLongest; ++places) {
    if (end < size) {
      const std::uint32_t length = common_end(tokens, end);
      if (length >= n_ && length > best.length) best = {.length = length, .end = end};
    }
    // After a cut, a position may lead to a later one.
    const std::uint32_t before = before_[end];
    if (before >= end) break;
    end = before;
  }
  return best;
}

}  // namespace corral::engine
