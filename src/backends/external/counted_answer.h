// Counts what an external program did for a request, from its response: such programs don't report it.
#pragma once

#include <functional>
#include <memory>

#include "async/timer.h"
#include "backends/wrapped_server.h"
#include "http/handler.h"

namespace corral::backends {

using RequestDone = std::function<void(const RequestStats&)>;

// Calls the hook on the home loop, as long as `hooks` exists, which ends there too. For every loop.
RequestDone reporter(async::Executor home, const std::shared_ptr<const WrappedServer::Hooks>& hooks);

// The same response. `done` is called once, on the response's loop: at the end of a response that isn't an error, or
// when it breaks off or is dropped after the first text of a stream. Tokens are those that the response reports, else
// the pieces of its stream. `began`: when the request was sent. `timers` must outlive the response.
void count_answer(http::Response& answer, const async::Timers& timers, MonoTime began, RequestDone done);

}  // namespace corral::backends
