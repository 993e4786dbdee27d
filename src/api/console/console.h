// The console's page at "/".
#pragma once

#include <optional>

#include "api/base/context.h"
#include "http/handler.h"

namespace corral::api {

// For a client that shows HTML, if the server has the page and may serve it.
std::optional<http::Response> console_at_root(const ServerInfo& about, const http::RequestHead& head);
// The same for a caller without the rights for "/": the page asks for a key itself. Nothing for other requests.
std::optional<http::Response> console_without_key(const ServerInfo& about, const http::Request& request);

}  // namespace corral::api
