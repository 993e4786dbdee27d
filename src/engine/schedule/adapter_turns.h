// Which set of adapters has the next pass: all that is computed in one has the same. Those that want one have a few in
// a row, in turns, whatever they have to compute: libllama plans its memory anew at each change, which takes some
// milliseconds. So none waits for more than kInARow passes of each other set. Pure; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/values/types.h"

namespace corral::engine {

class AdapterTurns {
 public:
  static constexpr std::uint32_t kInARow = 4;
  // Of those that want a pass, one at least: the one that waited longest; of those that haven't waited the first.
  const AdapterScales& next(std::span<const AdapterScales* const> wanted) const;
  // The pass was this one's, of those.
  void took(const AdapterScales& one, std::span<const AdapterScales* const> wanted);

 private:
  std::vector<AdapterScales> queue_;  // who waited longest first; the last one had the latest pass
  std::uint32_t in_a_row_ = 0;        // of the last one
};

}  // namespace corral::engine
