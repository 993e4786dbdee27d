// Translates a canonical answer to a dialect, piece by piece as it arrives. It reads from the upstream only when its
// reader reads, and ends the upstream when it is destroyed. It holds only the current event and the state of its
// translator; some translators repeat the whole answer at the end.
//
// After many pieces without output the client gets a ping. A stream that breaks off, without [DONE] and without a
// finish reason, becomes a failure; so does an answer with an error.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "dialects/dialect.h"
#include "http/handler.h"

namespace corral::dialects {

// Called once when the answer has ended successfully, on the translating thread: returns the duration of the request.
using AtEnd = std::function<std::chrono::nanoseconds()>;

// Errors stay unchanged: ErrorFilter rewrites them. No translator: the answer stays unchanged. `begun`: the request's,
// which is removed from whole answers. `names`: the request's, for errors in a stream that has begun.
http::Response translated(http::Response canonical, std::unique_ptr<ResponseTranslator> translator, AtEnd at_end = {},
                          const Begun& begun = {}, std::shared_ptr<const OwnNames> names = {});

}  // namespace corral::dialects
