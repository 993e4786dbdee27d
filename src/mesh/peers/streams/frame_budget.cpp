#include "mesh/peers/streams/frame_budget.h"

namespace corral::mesh {

bool FrameBudget::take(const Frame& frame, MonoTime now) {
  if (!frames_.take(now)) return false;
  switch (frame.kind) {
    case FrameKind::members:
      return members_.take(now);
    case FrameKind::peer_exchange:
      return peer_exchanges_.take(now);
    case FrameKind::dial_me:
      return dial_me_.take(now);
    case FrameKind::allot_ask:
      return orders_.take(now);
    case FrameKind::grant:
      return grants_.take(now);
    default:
      return true;
  }
}

}  // namespace corral::mesh
