// Error codes of the engine. A message names the invalid value and, if there is a limit, what was needed and what is
// available. Programs read these numbers from the facts below, by Error::fact().
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "engine/values/types.h"

namespace corral::engine {

enum class errc {
  model_not_loaded = 1,  // the service has no model
  file_not_found,        // the model file is not there or can't be opened
  load_failed,           // the file is there but no model came out of it; the message carries libllama's own last lines
  load_cancelled,        // the progress callback returned false
  out_of_memory,         // weights or context don't fit now; Error::memory says what was missing, if that is known
  never_fits,            // they need more than the device has in total; Error::memory says what
  version_mismatch,      // another libllama than the one this was built for
  session_not_found,     // never created, or ended
  session_busy,          // a generation runs on this session and the call didn't ask to supersede it
  tokenize_failed,       // the text has no token list in this vocabulary
  context_full,          // more tokens than the session's context holds
  input_too_long,        // one input is longer than a batch, or than its tokenizer can take
  invalid_argument,      // an option out of its range; Error::param names it
  invalid_worker_count,  // fewer than 1 or more than kMaxWorkers
  queue_full,            // the queue is full
  worker_shutdown,       // the model is being unloaded
  unsupported,           // this kind of model can't do that
  decode_failed,         // libllama failed on this session's tokens
  park_failed,           // a file or the folder of parked KV can't be read or written (or the disk is full)
  park_damaged,          // a file of parked KV differs from what was written, or is of another version
  backend_not_installed,  // no device of the requested kind
  worker_failed,          // unexpected failure in the worker (no memory in the middle of a pass); a retry may succeed
  no_weights,             // the request is valid, but this engine was loaded to check requests only
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
// The queue has room, but not for a client that has so many requests already.
Error share_full(std::uint64_t held, QueueFull facts);
// The same for tokens of embedding and rerank requests: `limit` tokens may run and wait together.
Error token_share_full(std::uint64_t held, std::uint64_t asked, std::uint64_t limit);
Error load_failed(errc cause, LoadFailed facts);
// For the exception barriers of threads: never throws. Without memory for a message the message is empty.
Error worker_failed(const char* what) noexcept;

}  // namespace corral::engine

CORRAL_DECLARE_ERRC(corral::engine);
