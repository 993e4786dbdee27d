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
};

}  // namespace corral::api

CORRAL_DECLARE_ERRC(corral::api);
