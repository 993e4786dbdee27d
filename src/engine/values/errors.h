// Causes of failure of the engine. A message always names the value at fault and, where there is a limit, what was
// needed and what is there; programs read these from the facts below, by Error::fact().
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "engine/values/types.h"

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
  input_too_long,        // one input is longer than a batch, or than its tokenizer can take
  invalid_argument,      // an option out of its range; Error::param names it
  invalid_worker_count,  // fewer than 1 or more than kMaxWorkers
  queue_full,            // as many generations wait as may wait
  worker_shutdown,       // the model is being unloaded
  unsupported,           // this kind of model can't do that
  decode_failed,         // libllama failed on this session's tokens
  park_failed,           // a file or the folder of parked KV can't be read or written (or the disk is full)
  park_damaged,          // a file of parked KV isn't what was written, or is of another version
  backend_not_installed,  // no device of the kind that was asked for
  worker_failed,          // something unforeseen hit the worker (no memory in the midst of a pass); trying again may do
  no_weights,             // nothing is wrong with the request, but this engine was loaded to check requests only
};

// Of context_full and input_too_long: tokens.
struct ContextFull {
  std::uint64_t needed = 0;  // a context of this size would do
  std::uint64_t n_past = 0;  // the session holds these already
  std::uint64_t n_ctx = 0;   // the session's limit
};
// Of session_not_found.
struct SessionNotFound {
  SessionId id;
};
// Of session_busy.
struct SessionBusy {
  SessionId id;
};
// Of queue_full: generations of one worker, or requests for embeddings or scores.
struct QueueFull {
  std::uint32_t limit = 0;  // so many may run and wait together
};
// Of file_not_found, load_failed, load_cancelled and out_of_memory while a model is loaded.
struct LoadFailed {
  std::string path;
  std::string cause;  // what went wrong, without the path
};

// The errors that carry them.
Error context_full(ContextFull facts);
Error session_not_found(SessionId session);
Error session_busy(SessionId session);
Error queue_full(QueueFull facts);
// There is room, but not for a client that has so many already.
Error share_full(std::uint64_t held, QueueFull facts);
// The same of tokens of requests for embeddings or scores: so many may run and wait together.
Error token_share_full(std::uint64_t held, std::uint64_t asked, std::uint64_t limit);
Error load_failed(errc cause, LoadFailed facts);
// For barriers on threads: never throws. Where there is no memory for a text there is none.
Error worker_failed(const char* what) noexcept;

}  // namespace corral::engine

CORRAL_DECLARE_ERRC(corral::engine);
