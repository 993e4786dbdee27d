// Causes of failure of the engine. A message always names the value at fault and, where there is a limit, what was
// needed and what is there.
#pragma once

#include "base/error.h"

namespace corral::engine {

enum class errc {
  model_not_loaded = 1,  // the service has no model (any more)
  file_not_found,        // the model file is not there or can't be opened
  load_failed,           // the file is there but no model came out of it; the message carries libllama's own last lines
  load_cancelled,        // the progress callback said no
  out_of_memory,         // weights or context don't fit now; Error::memory says what was missing, if that is known
  never_fits,            // they need more than the device has altogether; Error::memory says what
  version_mismatch,      // another libllama than the one this was built for
  session_not_found,     // never made, or ended
  session_busy,          // a generation runs on this session and the call didn't ask to supersede it
  tokenize_failed,       // the text has no token list in this vocabulary
  context_full,          // more tokens than the session's context holds
  input_too_long,        // one input of an embedding or reranking is longer than a batch
  invalid_argument,      // an option out of its range; Error::param names it
  invalid_worker_count,  // fewer than 1 or more than kMaxWorkers
  queue_full,            // as many generations wait as may wait
  worker_shutdown,       // the service is going away
  unsupported,           // this kind of model can't do that
  decode_failed,         // libllama failed on this session's tokens
};

}  // namespace corral::engine

CORRAL_DECLARE_ERRC(corral::engine);
