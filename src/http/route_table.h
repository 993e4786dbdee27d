// Routes as a table: method, pattern, handler. A pattern is a path whose segments may be "{name}" (one segment) or end
// in "{name...}" (the rest, slashes included: model names contain them).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/handler.h"

namespace corral::http {

using PathParams = std::map<std::string, std::string, std::less<>>;
using RouteHandler = std::function<async::Task<Response>(Request, PathParams)>;

struct Route {
  std::string method;
  std::string pattern;
  RouteHandler handler;
  std::uint32_t needs = 0;  // the caller must have one of these rights; 0: none needed
};

// Immutable after construction; safe on every loop if its handlers are.
//   unknown path -> not_found(request)
//   known path, other method -> 405 with Allow
//   HEAD -> the answer of GET without its body: 405 with Allow on a path without GET, never 404 on a known path
//   OPTIONS -> 204 with Allow
//   a caller without the right that the route needs; a caller without rights on an unknown path -> 403
// Trailing slashes of a path are ignored (RequestHead::path()).
class RouteTable final : public Handler {
 public:
  using Fallback = std::function<Response(const Request&, unsigned status)>;
  // `failure` renders 403, 404 and 405 in the style of the requested path.
  RouteTable(std::vector<Route> routes, Fallback failure);

  async::Task<Response> handle(Request request) override;

 private:
  struct Pattern {
    std::vector<std::string> segments;
    std::vector<const Route*> routes;
  };
  const Pattern* find(std::string_view path, PathParams& params) const;

  std::vector<Route> routes_;
  std::vector<Pattern> patterns_;
  std::map<std::string, const Pattern*, std::less<>> exact_;
  Fallback failure_;
};

}  // namespace corral::http
