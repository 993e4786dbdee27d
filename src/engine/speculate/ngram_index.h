// Finds earlier occurrences of the last n tokens of a growing list. Pure. One thread.
//
// A hash table gives the position where an n-gram last ended, and each position leads to the one before. The caller
// owns the tokens, and every hit is compared with them. So after a list was cut and continued differently, the index
// may miss positions, but never returns wrong ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class NgramIndex {
 public:
  explicit NgramIndex(std::uint32_t n) : n_(n), next_(n) {}

  // Adds the new tokens of `tokens`; takes time for those only.
  void update(std::span<const Token> tokens);

  struct Match {
    std::uint32_t length = 0;  // length of the repeated end of the list; 0: no match
    std::uint32_t end = 0;     // position of the token that followed
  };
  // The longest match of at least n tokens among the latest positions that update() has seen; of equals the latest.
  Match longest(std::span<const Token> tokens) const;

  // Longer matches are treated as this long.
  static constexpr std::uint32_t kLongest = 32;

 private:
  std::size_t slot(std::span<const Token> tokens, std::uint32_t end) const;

  const std::uint32_t n_;
  std::uint32_t next_;                 // first position to add
  std::vector<std::uint32_t> latest_;  // by hash: latest end position; 0: none
  std::vector<std::uint32_t> before_;  // by end position: the previous one with the same hash
};

}  // namespace corral::engine
