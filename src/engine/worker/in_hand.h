// Who is to blame if something throws now: said by whoever works, asked by the barrier (worker_failure.cpp). Nothing
// takes it back on the way there: when the barrier asks, the stack has gone.
#pragma once

#include "engine/worker/session.h"

namespace corral::engine {

struct InHand {
  Session* session = nullptr;  // whose turn it is
  bool computing = false;      // all that are in the pass
};

}  // namespace corral::engine
