// Bodies of inference requests are looked through before anything else happens for them. Small ones where they came in;
// a large one takes milliseconds, so that happens on a thread of its own, and the loop goes on with others' requests.
//
// A client that leaves before its body's turn has come gets it skipped; after that the result is dropped. In both
// cases the request lives until then, so its bytes count against max_bodies_bytes for as long as they are held.
#pragma once

#include <cstdint>
#include <string>

#include "async/offload.h"
#include "dialects/dialect.h"

namespace corral::api {

// Bodies of commands (load, set, ...) have no more than that, and are read on the loop.
inline constexpr std::uint64_t kSmallBody = 64 * 1024;

// `threads`: none: all are looked at here. Errors: those of `endpoint.read`.
async::Task<Result<dialects::Canonical>> read_body(async::ThreadPool* threads, const dialects::Endpoint& endpoint,
                                                   std::string body);

}  // namespace corral::api
