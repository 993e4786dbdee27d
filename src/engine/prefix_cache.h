// The token lists of ended sessions whose KV cells are kept, so that a new session with the same beginning needn't
// compute it again. Knows sequence ids and tokens only; the owner moves the cells. Least recently used ones go first.
// One thread.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "engine/radix_index.h"

namespace corral::engine {

class PrefixCache {
 public:
  // capacity: tokens of all entries together; 0 keeps nothing.
  explicit PrefixCache(std::uint32_t capacity) : capacity_(capacity) {}

  // Keeps a sequence; returns the sequences to free for it: too old ones, ones that are a prefix of the new one, or the
  // new one itself if it is a prefix of a kept one or too long.
  std::vector<std::int32_t> add(std::int32_t sequence, std::vector<Token> tokens);

  struct Match {
    std::int32_t sequence = -1;
    std::uint32_t length = 0;
  };
  // The entry with the longest common beginning; becomes the most recently used one.
  Match best(std::span<const Token> tokens);

  // Gives up the least recently used entry: its sequence, to be freed.
  std::optional<std::int32_t> evict();

  std::size_t size() const { return entries_.size(); }
  std::uint32_t tokens() const { return tokens_; }

 private:
  struct Entry {
    std::int32_t sequence;
    std::vector<Token> tokens;
  };
  std::uint32_t capacity_;
  std::uint32_t tokens_ = 0;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace corral::engine
