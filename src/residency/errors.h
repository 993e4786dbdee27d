// Error codes of the core's own refusals. A failed load is answered with the error that the router reports.
#pragma once

#include <system_error>

#include "base/error.h"
#include "residency/types.h"

namespace corral::residency {

enum class errc {
  slots_pinned = 1,  // pinned models hold every slot of the type, or the NPU
  cooling_down,      // the model failed repeatedly; retry_after has the remaining time
  not_loaded,        // no instance of this model is in memory
  load_crashed,      // the instance ended while it was loading
  load_deadline,     // the load took longer than allowed
  shutting_down,
  bad_limit,            // max_loaded_models can't be understood
  queue_full,           // the maximum number of requests already waits for loads; retry_after
  insufficient_memory,  // the model needs more memory than the machine has; the error's memory has the amounts
  memory_in_use,        // it would fit, but other programs hold the memory; retry_after
  not_here,             // a peer's request that can't be served now; the error's memory has the missing amounts
  needs_eviction,       // ModelSpec::evicts_nothing, and there is no free slot or memory
};

// Fact of not_here: only a load for another peer is in the way. A load for this request may start after it.
struct SoonHere {};

Error shutting_down();
Error not_loaded(const ModelName& model);

}  // namespace corral::residency

CORRAL_DECLARE_ERRC(corral::residency);
