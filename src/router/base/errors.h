// Error codes of the router's own refusals; errors of other modules pass through with their own codes.
#pragma once

#include "base/error.h"

namespace corral::router {

enum class errc {
  unknown_recipe = 1,   // no backend of this recipe is compiled in or installed
  backend_died,         // the backend ended while it worked on the request
  backend_unreachable,  // the backend runs but doesn't accept the request
  shutting_down,
  cancelled,          // not by its client
  internal,           // an unexpected failure; see the log
  quarantined,        // this request has ended processes before; retry_after
  context_not_yours,  // more context than this key may have a model loaded with
  not_begun,          // the provider hasn't started the request: another may be tried; fact<Error>() has the cause
};

}  // namespace corral::router

CORRAL_DECLARE_ERRC(corral::router);
