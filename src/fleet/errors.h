// Why the mesh refuses a request; what a peer answered passes through with its own cause.
#pragma once

#include "base/error.h"

namespace corral::fleet {

enum class errc {
  ambiguous_model = 1,  // the name means different contents at different nodes
  nowhere,    // no node can serve the model now; the message says what is short, retry_after when to ask again
  peer_gone,  // the node that worked on the request is gone
  peer_busy,  // the node has as many of our requests as it takes
};

}  // namespace corral::fleet

CORRAL_DECLARE_ERRC(corral::fleet);
