#include "engine/service/placement.h"

#include <algorithm>
#include <utility>

#include "engine/values/options.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace corral::engine {
namespace {

static_assert(kMaxWorkers <= 64, "a bit for each");
constexpr std::size_t kBlocks = 1 << 15;  // per map: two million tokens

std::vector<std::uint64_t> block_hashes(std::span<const Token> tokens) {
  std::vector<std::uint64_t> hashes;
  std::uint64_t hash = 0;
  for (std::size_t end = Placement::kBlock; end <= tokens.size(); end += Placement::kBlock) {
    hash = XXH3_64bits_withSeed(&tokens[end - Placement::kBlock], Placement::kBlock * sizeof(Token), hash);
    hashes.push_back(hash);
  }
  return hashes;
}

}  // namespace

Placement::Workers& Placement::of(std::uint64_t hash) {
  if (const auto found = young_.find(hash); found != young_.end()) return found->second;
  if (young_.size() >= kBlocks) old_ = std::exchange(young_, {});
  const auto older = old_.find(hash);
  return young_.emplace(hash, older == old_.end() ? Workers{0} : older->second).first->second;
}

std::uint32_t Placement::choose(std::span<const Token> tokens, std::span<const std::uint32_t> busy,
                                std::uint32_t next) {
  const auto workers = static_cast<std::uint32_t>(busy.size());
  const auto hashes = block_hashes(tokens);
  std::vector<std::uint32_t> known(workers);
  Workers still = ~Workers{0};  // workers that know all blocks so far
  for (const std::uint64_t hash : hashes) {
    still &= of(hash);
    for (std::uint32_t i = 0; i < workers; ++i) known[i] += (still >> i & 1) != 0 ? kBlock : 0;
  }
  const auto worth = [&](std::uint32_t worker) {
    return std::int64_t{std::min(known[worker], kMaxWorth)} - std::int64_t{kWorthOfOne} * busy[worker];
  };
  std::uint32_t best = next;
  for (std::uint32_t i = 1; i < workers; ++i) {
    const std::uint32_t candidate = (next + i) % workers;
    if (worth(candidate) > worth(best)) best = candidate;
  }
  for (const std::uint64_t hash : hashes) of(hash) |= Workers{1} << best;
  return best;
}

}  // namespace corral::engine
