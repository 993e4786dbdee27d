// Begins an answer that nobody waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "api/context.h"
#include "api/responses/keeping.h"
#include "http/handler.h"

namespace corral::api {

// Of a request, what it takes to tell of it.
std::shared_ptr<const dialects::Canonical> shown_in_background(const dialects::Canonical& asked);

// Keeps it as queued, then lets `begin` work on it beside all requests. Answers with what there is of it: the document,
// or its events. `bytes`: that it holds meanwhile. Errors: those of BackgroundResponses::start(), and of the store.
async::Task<http::Response> begin_in_background(
    ApiContext& context, std::shared_ptr<Keeping> keeping, std::shared_ptr<const dialects::Canonical> shown,
    std::uint64_t bytes, std::move_only_function<async::Task<http::Response>(std::function<void()> started)> begin);

}  // namespace corral::api
