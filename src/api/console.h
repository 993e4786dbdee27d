// The console's page at "/".
#pragma once

#include <optional>

#include "api/context.h"
#include "http/handler.h"

namespace corral::api {

// For a client that shows HTML, if the server has the page and may serve it.
std::optional<http::Response> console_at_root(const ApiContext& context, const http::RequestHead& head);

}  // namespace corral::api
