// Errors as HTTP answers. Code that rejects a request returns an Error and knows no dialect. error_response() writes it
// in OpenAI's shape; ErrorFilter, the outermost filter, rewrites it if the path belongs to another API.
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

// Rewrites an error answer in another style. An error that came as text from an upstream is parsed first. Everything
// but the body stays.
http::Response retold(http::Response answer, protocol::Style style);

// The outermost filter: errors in the style of the requested path.
class ErrorFilter final : public http::Handler {
 public:
  explicit ErrorFilter(http::Handler& inside) : inside_(inside) {}
  async::Task<http::Response> handle(http::Request request) override;
  // Uses `answer.failure` if present. `answer` has the header X-Request-Id.
  http::Response refused(std::string_view path, http::Response answer) override;

 private:
  http::Handler& inside_;
};

}  // namespace corral::dialects
