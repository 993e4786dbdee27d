// When a request at a peer counts as lost though the link is up: for two seconds heartbeats arrive without listing it,
// and no byte of its response arrives. This counts only while a reader waits for bytes. A slow reader leaves old bytes
// unread, and the peer has rightly forgotten the request. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace corral::fleet {

inline constexpr Millis kHeldPatience{2'000};

class LostRequestDetector {
 public:
  explicit LostRequestDetector(MonoTime now) : sure_(now) {}

  // True: the request is lost. `heard`: the peer's last heartbeat; nullopt without a link, when nothing is known.
  // `listed`: that heartbeat lists the request. `waits`: a reader waits for bytes, of which `pieces` have arrived so
  // far.
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
