// Which worker a session goes to whose tokens are known: the one that has computed most of them already, for there the
// beginning need not be computed again, unless it is so much busier that another has the answer sooner. What many have
// in common is so computed by each worker once. What was computed where is remembered as hashes of whole blocks, each
// hash over everything up to its block's end; the least recently used are forgotten. A worker may have lost its KV
// since: then the load is a little less even, and nothing is gained.
// Pure; one thread at a time. Lengths are in tokens.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class Placement {
 public:
  static constexpr std::uint32_t kBlock = 64;
  // So many known tokens make good for one more generation that is under way.
  static constexpr std::uint32_t kWorthOfOne = 512;
  // And no more than these: a worker with nothing to do takes over what a busy one knows.
  static constexpr std::uint32_t kMaxWorth = 4 * kWorthOfOne;

  // `busy`: the generations of each worker that are under way or wait, for up to kMaxWorkers workers. `next`: who is
  // taken among equals. What the chosen one is about to compute counts as known to it from now on.
  std::uint32_t choose(std::span<const Token> tokens, std::span<const std::uint32_t> busy, std::uint32_t next);

 private:
  using Workers = std::uint64_t;  // a bit for each

  Workers& of(std::uint64_t hash);

  // Two generations: when the younger is full the older is dropped.
  std::unordered_map<std::uint64_t, Workers> young_, old_;
};

}  // namespace corral::engine
