// Rate limits for the frames of one peer; the link itself limits the bytes. Honest nodes stay far below. More frames
// end the link, so that they can't overload the mesh's loop. A plain value.
#pragma once

#include "mesh/link/frame.h"
#include "mesh/net/token_bucket.h"

namespace corral::mesh {

class FrameBudget {
 public:
  // False if the frame exceeds a limit.
  bool take(const Frame& frame, MonoTime now);

 private:
  TokenBucket frames_{{1000, 4000}};
  TokenBucket members_{{20, 64}};
  TokenBucket peer_exchanges_{{8, 32}};
  TokenBucket dial_me_{{8, 64}};
  // Enough for a host with 32 groups over one node: an answer or an ask every 2.5 s, and all of them anew at once.
  TokenBucket grants_{{32, 256}};
  TokenBucket orders_{{8, 64}};  // the sender's own limit is lower (fleet/base/peer_questions.h)
};

}  // namespace corral::mesh
