// GET images/files/{name}: images that a client gets by their URL.
#include <fmt/format.h>

#include "api/base/core_routes.h"
#include "api/base/errors.h"
#include "api/images/routes.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

// Browsers ask less often than they show an image; the URL ends earlier than their copy.
constexpr std::string_view kCaching = "private, max-age=3600";

async::Task<http::Response> send_image(ImagesContext& context, http::PathParams params) {
  const auto found = context.kept.find(params["name"], context.inference.core.timers.now());
  if (!found) {
    co_return dialects::error_response(Error(make_error_code(errc::image_not_found),
                                             "there is no such image: this server keeps images for an hour, or until "
                                             "newer ones need the space"));
  }
  http::Response response{{200, {}}, http::Body(http::Spool::reader(found->bytes))};
  auto& headers = response.head.headers;
  headers.add("Content-Type", fmt::format("image/{}", found->format));
  headers.add("Cache-Control", kCaching);
  headers.add("X-Content-Type-Options", "nosniff");
  co_return response;
}

}  // namespace

void add_image_files(std::vector<http::Route>& routes, ImagesContext& context) {
  add_core(routes, "GET", "images/files/{name}",
           [&context](http::Request, http::PathParams params) { return send_image(context, std::move(params)); });
}

}  // namespace corral::api
