// Why the API refuses a request before any model is asked.
#pragma once

#include "base/error.h"

namespace corral::api {

enum class errc {
  invalid_api_key = 1,
  forbidden_origin,
  forbidden_host,
  unknown_view,  // of events
  request_not_found,
  too_many_readers,    // of events
  insufficient_scope,  // a valid key that may not do this
  not_json,            // a browser sent a body that isn't said to be JSON
  too_many_requests,   // of one key at a time; retry_after
  verification_runs,   // of files, for somebody else
  download_not_found,
  download_paused,     // by somebody else, while one waited for its end
  download_cancelled,  // likewise
  unknown_model,       // to be deleted
  model_busy,          // works on requests, or is being loaded
  file_not_ours,       // whoever put it there may delete it
  name_taken,          // by a model
  alias_not_found,
  stream_not_found,  // of a conversation
  stream_not_begun,  // its model is still being loaded; retry_after
  stream_lost,       // its bytes are gone
  stream_stopped,    // by somebody
  previous_response_not_found,
  response_not_in_background,  // so there is nothing to cancel
  response_events_gone,        // of a response whose stream was to be gone on with
  nothing_kept,                // the server is told not to
  server_stopping,
};

}  // namespace corral::api

CORRAL_DECLARE_ERRC(corral::api);
