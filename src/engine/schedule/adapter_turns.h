// Chooses the adapter set of the next pass: all sessions of a pass have the same set. Each set gets a few passes in a
// row, in turns, whatever its sessions compute, because libllama plans its memory again at each change, which takes
// some milliseconds. So a set waits for at most kInARow passes of each other set. Pure; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class AdapterTurns {
 public:
  static constexpr std::uint32_t kInARow = 4;
  // The next set among `wanted` (at least one): the one that has waited longest; if none has waited, the first.
  const AdapterScales& next(std::span<const AdapterScales* const> wanted) const;
  // Records that the pass had set `one` of `wanted`.
  void took(const AdapterScales& one, std::span<const AdapterScales* const> wanted);

 private:
  std::vector<AdapterScales> queue_;  // longest waiting first; the last one had the latest pass
  std::uint32_t in_a_row_ = 0;        // passes in a row of the last one
};

}  // namespace corral::engine
