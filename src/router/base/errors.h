// Why the router itself refuses a request; causes from below pass through with their own codes.
#pragma once

#include "base/error.h"

namespace corral::router {

enum class errc {
  unknown_recipe = 1,   // no backend of this recipe is compiled in or installed
  backend_died,         // the backend ended while it worked on the request
  backend_unreachable,  // the backend lives but doesn't take the request
  shutting_down,
  cancelled,          // by somebody else than its client
  internal,           // something that never fails has failed; the log says what
  quarantined,        // this very request has ended processes before; retry_after
  context_not_yours,  // more context than its caller may have a model loaded with
  not_begun,          // whoever was asked hasn't begun: somebody else may be asked; fact<Error>() says why
};

}  // namespace corral::router

CORRAL_DECLARE_ERRC(corral::router);
