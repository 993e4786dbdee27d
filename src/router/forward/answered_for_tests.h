// The client's view of a forwarded request: an error becomes the response that the API makes of it.
#pragma once

#include <utility>

#include "dialects/error_filter.h"
#include "router/forward/forwarder.h"

namespace corral::router {

inline async::Task<http::Response> answered(async::Task<Result<http::Response>> forwarding) {
  auto answer = co_await std::move(forwarding);
  co_return answer ? std::move(*answer) : dialects::error_response(answer.error());
}

}  // namespace corral::router
