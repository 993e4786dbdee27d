// Transcripts for clients that want events, of backends that answer all at once: pings while it takes, then the text.
#pragma once

#include "async/timer.h"
#include "http/handler.h"

namespace corral::api {

bool is_events(const http::Response& answer);

// `answering` ends with a transcript that was told (dialects/audio/transcription.h), with events of the backend's own,
// or with a no: that has its status if it comes within a second, else it is one event.
async::Task<http::Response> heard_as_events(async::Timers& timers, async::Task<http::Response> answering);

}  // namespace corral::api
