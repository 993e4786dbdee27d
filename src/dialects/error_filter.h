// Errors as HTTP answers. Whoever refuses a request says why as an Error and knows nothing of dialects: it is told in
// OpenAI's shape, and ErrorFilter, in front of everything, tells it again where the path belongs to another API.
//
// Safe on every thread.
#pragma once

#include <string_view>

#include "base/error.h"
#include "http/handler.h"
#include "protocol/http_error.h"

namespace corral::dialects {

// Status, body and Retry-After in OpenAI's shape; keeps the error (Response::failure).
http::Response error_response(const Error& error);

// For RouteTable: 404 and 405 for paths.
http::Response path_error(const http::Request& request, unsigned status);

// The same answer, if it says no, in another style. An error that came from behind us as text is read first.
// Everything but the body stays.
http::Response retold(http::Response answer, protocol::Style style);

// A filter in front of all handlers: errors in the style of the path that was asked for.
class ErrorFilter final : public http::Handler {
 public:
  explicit ErrorFilter(http::Handler& inside) : inside_(inside) {}
  async::Task<http::Response> handle(http::Request request) override;
  // By `answer.failure` if it is there. `answer` has the header X-Request-Id.
  http::Response refused(std::string_view path, http::Response answer) override;

 private:
  http::Handler& inside_;
};

}  // namespace corral::dialects
