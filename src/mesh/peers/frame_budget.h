// What one peer may send over its link, of frames that somebody takes; its bytes are the link's own business. Honest
// nodes stay far below; who sends more costs the loop of the mesh no more than this, for the link ends. A plain value.
#pragma once

#include "mesh/link/frame.h"
#include "mesh/net/token_bucket.h"

namespace corral::mesh {

class FrameBudget {
 public:
  // False when the frame is one too many.
  bool take(const Frame& frame, MonoTime now);

 private:
  TokenBucket frames_{{1000, 4000}};
  TokenBucket members_{{20, 64}};
  TokenBucket whereabouts_{{8, 32}};
  TokenBucket dial_me_{{8, 64}};
  // Of a host that has 32 groups over one node: an answer or an ask each 2.5 s, and all of them anew at once.
  TokenBucket grants_{{32, 256}};
  TokenBucket orders_{{8, 64}};  // a node that gives some keeps to less (fleet/base/peer_questions.h)
};

}  // namespace corral::mesh
