// When a request at a peer counts as lost though the link is up: the peer's heartbeats come and don't list it, and
// nothing of its answer comes, for two seconds. Somebody must wait for the answer: a reader that is slow leaves what
// came long ago unread, and the peer is right to have forgotten it. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace corral::fleet {

inline constexpr Millis kHeldPatience{2'000};

class LostRequestDetector {
 public:
  explicit LostRequestDetector(MonoTime now) : sure_(now) {}

  // True: it is lost. `heard`: the peer's last heartbeat, nothing without a link, which says nothing then; `listed`: in
  // that heartbeat; `waits`: somebody waits for bytes of it, of which `pieces` have come so far.
  bool lost(MonoTime now, std::optional<MonoTime> heard, bool listed, bool waits, std::uint64_t pieces) {
    if (!heard || listed || !waits || pieces != pieces_) sure_ = now;
    pieces_ = pieces;
    return heard && *heard - sure_ >= kHeldPatience;
  }

 private:
  MonoTime sure_;
  std::uint64_t pieces_ = 0;
};

}  // namespace corral::fleet
