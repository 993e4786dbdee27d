// The causes for which the core itself refuses a request. A failed load is answered with the error that the shell
// reports.
#pragma once

#include <system_error>

#include "base/error.h"
#include "residency/types.h"

namespace corral::residency {

enum class errc {
  slots_pinned = 1,  // every slot of the type, or the NPU, is held by pinned models
  cooling_down,      // the model failed repeatedly; retry_after says when it may be tried again
  not_loaded,        // there is no such model in memory
  load_crashed,      // the instance ended while it was loading
  load_deadline,     // the load took longer than allowed
  shutting_down,
  bad_limit,            // max_loaded_models can't be understood
  queue_full,           // as many wait for loads as may wait; retry_after
  insufficient_memory,  // the model needs more than there is on this machine; the error's memory says what
  memory_in_use,        // it would fit, but others than our models hold the memory; retry_after
  not_here,             // a peer's request that can't be served here now; the error's memory says what is short
};

// Fact of not_here: nothing is in the way but a load for another machine. When that has ended this one may begin.
struct SoonHere {};

Error shutting_down();
Error not_loaded(const ModelName& model);

}  // namespace corral::residency

CORRAL_DECLARE_ERRC(corral::residency);
