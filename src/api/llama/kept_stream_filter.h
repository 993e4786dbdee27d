// Streams that continue without their client (kept_streams.h).
#pragma once

#include "api/base/inference_call.h"
#include "api/llama/kept_streams.h"

namespace corral::api {

// For requests that name a conversation. An answer in another dialect isn't kept, because a later reader would get the
// canonical form.
Filter kept_stream_filter(KeptStreams& streams);

}  // namespace corral::api
