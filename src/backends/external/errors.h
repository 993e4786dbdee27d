// Error codes of external backends, in addition to those of all backends (backends/errors.h).
#pragma once

#include "base/error.h"

namespace corral::backends::external {

enum class errc {
  bad_descriptor = 1,  // a file that describes a backend or its models; the message names file, line and key
  not_served,          // the backend of the model has no such endpoint
  not_reachable,       // an attached server can't be reached
  request_failed,      // the process of one request has failed
  stalled,             // the program took and sent no byte of one request for too long; it may still serve others
};

}  // namespace corral::backends::external

CORRAL_DECLARE_ERRC(corral::backends::external);
