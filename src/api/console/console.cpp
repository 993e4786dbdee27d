// The console: a page for browsers, at /console/ and, for clients that show HTML, at /. It uses the public API alone.
#include "api/console/console.h"

#include "api/access/rights.h"
#include "api/console/routes.h"
#include "console/page.h"
#include "dialects/error_filter.h"

namespace corral::api {
namespace {

http::Response unknown(const http::Request& request) {
  return request.caller.rights == 0 ? refuse_caller(request) : dialects::path_error(request, 404);
}

async::Task<http::Response> file(const ServerInfo& about, http::Request request, std::string path) {
  const auto* const found = about.console ? console::Pack::embedded().find(path) : nullptr;
  if (found == nullptr) co_return unknown(request);
  co_return console::serve(*found, request.head);
}

async::Task<http::Response> index(const ServerInfo& about, http::Request request) {
  const auto target = std::string_view(request.head.target).substr(0, request.head.target.find('?'));
  if (about.console && !console::Pack::embedded().empty() && !target.ends_with('/'))
    co_return console::with_slash(target);
  co_return co_await file(about, std::move(request), "index.html");
}

}  // namespace

std::optional<http::Response> console_at_root(const ServerInfo& about, const http::RequestHead& head) {
  if (!about.console || !console::is_browser(head)) return std::nullopt;
  const auto* const page = console::Pack::embedded().find("root.html");
  if (page == nullptr) return std::nullopt;
  auto response = console::serve(*page, head);
  response.head.headers.set("Vary", "Accept, Accept-Encoding, User-Agent");
  return response;
}

std::optional<http::Response> console_without_key(const ServerInfo& about, const http::Request& request) {
  const auto& head = request.head;
  const bool reads = head.method == "GET" || head.method == "HEAD";
  return reads && head.path() == "/" ? console_at_root(about, head) : std::nullopt;
}

void add_console(std::vector<http::Route>& routes, const ServerInfo& about) {
  routes.push_back({"GET", "/console",
                    [&about](http::Request request, http::PathParams) { return index(about, std::move(request)); }});
  routes.push_back({"GET", "/console/{path...}", [&about](http::Request request, http::PathParams params) {
                      return file(about, std::move(request), std::move(params["path"]));
                    }});
}

}  // namespace corral::api
