// Starts a background answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "api/responses/context.h"
#include "api/responses/keeping.h"
#include "http/handler.h"

namespace corral::api {

// The parts of a request that its document shows.
std::shared_ptr<const dialects::Canonical> shown_in_background(const dialects::Canonical& asked);

// Stores it as queued, then runs `begin` independently of the request. Returns its document or its events. `bytes`:
// memory that it holds meanwhile. Errors: those of BackgroundResponses::start(), and of the store.
async::Task<http::Response> begin_in_background(
    ResponsesContext& context, std::shared_ptr<Keeping> keeping, std::shared_ptr<const dialects::Canonical> shown,
    std::uint64_t bytes, std::move_only_function<async::Task<http::Response>(std::function<void()> started)> begin);

}  // namespace corral::api
