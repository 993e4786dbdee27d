// Errors of the API before a model gets the request.
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
  insufficient_scope,  // a valid key without the required scope
  not_json,            // a browser's body has no JSON content type
  too_many_requests,   // of one key in parallel; retry_after
  verification_runs,   // of files, for another client
  download_not_found,
  download_paused,     // by another client, while this one waited for its end
  download_cancelled,  // likewise
  unknown_model,       // for a delete
  model_busy,          // has running requests, or is being loaded
  file_not_ours,       // only its owner may delete it
  name_taken,          // by a model
  alias_not_found,
  stream_not_found,  // of a conversation
  stream_not_begun,  // its model is still being loaded; retry_after
  stream_lost,       // its bytes were dropped
  stream_stopped,    // by a client
  previous_response_not_found,
  response_not_in_background,  // so it can't be cancelled
  response_events_gone,        // of a response whose stream a client wants to resume
  nothing_kept,                // storage is off (`store_responses`)
  server_stopping,
  media_not_supported,  // pictures or sound for a model that doesn't read them
  picture_not_fetched,  // at a URL of a request
  image_not_found,      // its URL has ended
};

}  // namespace corral::api

CORRAL_DECLARE_ERRC(corral::api);
