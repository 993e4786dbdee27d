#include "mesh/peers/frame_budget.h"

namespace corral::mesh {

bool FrameBudget::take(const Frame& frame, MonoTime now) {
  const auto size = static_cast<double>(kFrameHead + frame.payload.size());
  if (!frames_.take(now) || !bytes_.take(now, size)) return false;
  switch (frame.kind) {
    case FrameKind::members:
      return members_.take(now);
    case FrameKind::whereabouts:
      return whereabouts_.take(now);
    case FrameKind::dial_me:
      return dial_me_.take(now);
    default:
      return true;
  }
}

}  // namespace corral::mesh
