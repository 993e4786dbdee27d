// Chooses the worker of a session whose tokens are known: the one that has computed the longest prefix of them, unless
// it is so busy that another worker responds sooner. So each worker computes a common prefix at most once. Placement
// remembers hashes of whole blocks, each over everything up to its block's end, and forgets the least recently used. If
// a worker has lost its KV since, the load is a little less even and nothing is gained.
//
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
  // Known tokens that outweigh one more generation in progress.
  static constexpr std::uint32_t kWorthOfOne = 512;
  // Limit for that: an idle worker takes sessions from a busy one.
  static constexpr std::uint32_t kMaxWorth = 4 * kWorthOfOne;

  // `busy`: running and waiting generations of each worker, for up to kMaxWorkers workers. `next`: the worker to choose
  // among equals. Records the tokens as known to the chosen worker.
  std::uint32_t choose(std::span<const Token> tokens, std::span<const std::uint32_t> busy, std::uint32_t next);

 private:
  using Workers = std::uint64_t;  // a bit for each

  Workers& of(std::uint64_t hash);

  // Two maps: when the young one is full, the old one is dropped.
  std::unordered_map<std::uint64_t, Workers> young_, old_;
};

}  // namespace corral::engine
