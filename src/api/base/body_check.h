// Checks the bodies of inference requests first of all. Small bodies are checked on their loop. A large one takes
// milliseconds, so a separate thread checks it and the loop serves other requests.
//
// If the client disconnects, its waiting body is skipped, or the result is dropped. In both cases the request lives
// until then, so its bytes count against max_bodies_bytes as long as they are held.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "async/offload.h"
#include "dialects/dialect.h"

namespace corral::api {

// Bodies of commands (load, set, ...) have at most this size and are read on the loop.
inline constexpr std::uint64_t kSmallBody = 64 * 1024;

// Runs large work on another thread, so that the loop serves other requests. The work owns its data: the caller
// may be cancelled meanwhile. `threads`: null: all work runs on the loop.
template <typename Work>
async::Task<std::invoke_result_t<Work>> run_beside(async::ThreadPool* threads, bool large, Work work) {
  if (!large || threads == nullptr) co_return work();
  co_return co_await threads->run(std::move(work));
}

// `threads`: null: bodies are checked on the loop. Errors: those of `endpoint.read`.
async::Task<Result<dialects::Canonical>> read_body(async::ThreadPool* threads, const dialects::Endpoint& endpoint,
                                                   std::string body);

}  // namespace corral::api
