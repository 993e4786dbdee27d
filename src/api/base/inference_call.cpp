#include "api/base/inference_call.h"

#include "dialects/error_filter.h"

namespace corral::api {

async::Task<http::Response> refused(Error error) { co_return dialects::error_response(error); }

std::string_view shown_path(const dialects::Endpoint& endpoint) {
  return endpoint.path.starts_with('/') ? endpoint.path.substr(1) : endpoint.path;
}

}  // namespace corral::api
