// Where the last n tokens of a growing list stood before. Pure. One thread.
//
// A hash of each n-gram leads to the place where it last ended, and from there to the ones before. The tokens stay with
// their owner, and every hit is compared with them: a list that was cut back and went on otherwise makes the index miss
// some places, never find wrong ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class NgramIndex {
 public:
  explicit NgramIndex(std::uint32_t n) : n_(n), next_(n) {}

  // Takes in what is new in `tokens`: the time it takes is that of the new ones.
  void update(std::span<const Token> tokens);

  struct Match {
    std::uint32_t length = 0;  // so many of the last tokens stood there already; 0: nowhere
    std::uint32_t end = 0;     // the place of the token that followed
  };
  // The longest match of at least n tokens among the latest places, the latest of equals. Of what update() has seen.
  Match longest(std::span<const Token> tokens) const;

  // Longer matches count as this long.
  static constexpr std::uint32_t kLongest = 32;

 private:
  std::size_t slot(std::span<const Token> tokens, std::uint32_t end) const;

  const std::uint32_t n_;
  std::uint32_t next_;                 // the first end that isn't in yet
  std::vector<std::uint32_t> latest_;  // by hash: the last end; 0: none
  std::vector<std::uint32_t> before_;  // by end: the one before with the same hash
};

}  // namespace corral::engine
