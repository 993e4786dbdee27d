// The generations to fail if the code that runs now throws. The code that works sets it, the barrier
// (worker/worker_failure.cpp) reads it. Nothing resets it in between: the stack has gone by then.
#pragma once

#include "engine/session/session.h"

namespace corral::engine {

struct FaultScope {
  Session* session = nullptr;  // whose turn it is
  bool computing = false;      // all that are in the pass
};

}  // namespace corral::engine
