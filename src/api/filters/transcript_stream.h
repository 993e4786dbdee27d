// Transcripts as events, for backends that answer all at once: pings while the backend works, then the text.
#pragma once

#include "async/timer.h"
#include "http/handler.h"

namespace corral::api {

// `answering` returns a translated transcript (dialects/audio/transcription.h), the backend's own events, or an error.
// An error within a second has its own status; later it is one event.
async::Task<http::Response> transcript_as_events(async::Timers& timers, async::Task<http::Response> answering);

}  // namespace corral::api
