// When a request at a peer counts as lost though the link is up: for kHeldPatience the peer's heartbeats arrive without
// this request in their list, and no byte of its response arrives. Time counts only while this node waits for bytes: if
// its reader is slow, old bytes are still unread, and the peer has rightly forgotten the request. Silent links end by
// mesh/link/link_failure_detector.h. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace corral::fleet {

inline constexpr Millis kHeldPatience{2'000};

class LostRequestDetector {
 public:
  explicit LostRequestDetector(MonoTime now) : sure_(now) {}

  // True: the request is lost. `last_heartbeat`: the peer's last heartbeat; nullopt without a link, when nothing is
  // known. `listed`: that heartbeat lists the request. `waits`: a reader waits for bytes, of which `pieces` have
  // arrived so far.
  bool lost(MonoTime now, std::optional<MonoTime> last_heartbeat, bool listed, bool waits, std::uint64_t pieces) {
    if (!last_heartbeat || listed || !waits || pieces != pieces_) sure_ = now;
    pieces_ = pieces;
    return last_heartbeat && *last_heartbeat - sure_ >= kHeldPatience;
  }

 private:
  MonoTime sure_;
  std::uint64_t pieces_ = 0;
};

}  // namespace corral::fleet
