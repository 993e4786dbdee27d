#include "api/access/access_filter.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "api/access/rights.h"
#include "api/base/errors.h"
#include "config/options/origins.h"
#include "dialects/error_filter.h"
#include "dialects/paths.h"
#include "http/passing.h"

namespace corral::api {
namespace {

// Bytes of header values that are echoed.
constexpr std::size_t kLongestEcho = 1024;
constexpr std::string_view kMethods = "GET, POST, DELETE, OPTIONS";
constexpr std::string_view kPreflightSeconds = "600";

// For messages: text from an unknown client, cut.
std::string_view shown(std::string_view text) { return text.substr(0, 200); }

bool is_our_name(std::string_view host, const AccessOptions& options) {
  const auto name = config::host_name(host);
  if (config::is_loopback(name) || config::is_container_gateway(name)) return true;
  if (config::is_listed_host(name, options.allowed_hosts)) return true;
  if (options.loopback_only) return false;
  if (config::is_address(name)) return true;
  if (!options.allowed_hosts.empty()) return false;
  // A page with a foreign host name has no key.
  return options.keys->asks() || config::is_private_name(name) || config::is_listed_host(name, options.own_names);
}

enum class Page {
  none,    // no browser, or a URL that a user typed
  own,     // of this server
  listed,  // of an allowed origin
  cross_origin,
};

// Paths of llama-swap whose GET changes something.
bool acts(std::string_view path) { return path == "/unload" || path.starts_with("/upstream/"); }

// A page of a client that shows an image by its URL (api/images).
bool shows_image(const http::RequestHead& head) {
  constexpr std::string_view kFiles = "images/files/";
  const auto is_image = [&, path = head.path()](std::string_view prefix) {
    return path.starts_with(prefix) && path.substr(prefix.size()).starts_with(kFiles);
  };
  return head.method == "GET" && head.headers.get("Sec-Fetch-Dest") == "image" &&
         std::ranges::any_of(dialects::kCorePrefixes, is_image);
}

Page page_of(const http::Request& request, const AccessOptions& options) {
  const auto& headers = request.head.headers;
  if (headers.has("Origin")) {
    const auto origin = headers.get("Origin");
    if (config::is_listed_origin(origin, options.allowed_origins, options.keys->asks())) return Page::listed;
    return config::is_same_origin(origin, headers.get("Host")) ? Page::own : Page::cross_origin;
  }
  const auto site = headers.get("Sec-Fetch-Site");
  // Browsers don't say which page asks if the address isn't a trustworthy one, as those of private networks.
  const bool browser = headers.get("User-Agent").starts_with("Mozilla/");
  if (site.empty() && browser && request.head.path() == "/unload") return Page::cross_origin;
  if (site.empty() || site == "none") return Page::none;
  if (site == "same-origin") return Page::own;
  // The page that has a link can't read its target, and GET changes nothing but at a few paths.
  const bool link = request.head.method == "GET" && !acts(request.head.path()) &&
                    headers.get("Sec-Fetch-Mode") == "navigate" && headers.get("Sec-Fetch-Dest") == "document";
  return link || shows_image(request.head) ? Page::none : Page::cross_origin;
}

Error cross_origin(const http::Headers& headers) {
  if (const auto origin = headers.get("Origin"); headers.has("Origin")) {
    return {make_error_code(errc::forbidden_origin),
            fmt::format("origin '{}' is not allowed: add it to allowed_origins", shown(origin)), "Origin"};
  }
  return {make_error_code(errc::forbidden_origin),
          "pages of other sites need an entry in allowed_origins, and requests with an Origin header",
          "Sec-Fetch-Site"};
}

bool is_json(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return http::same_name(type, "application/json");
}

// Allowed pages may send forms with files. Any page can send a form without a preflight, but not with an allowed
// origin.
bool is_upload(const http::Request& request, Page page) {
  if (page != Page::listed && (page != Page::own || !request.head.headers.has("Origin"))) return false;
  const auto path = request.head.path();
  const bool takes_files =
      path.find("/audio/") != std::string_view::npos || path.find("/images/") != std::string_view::npos;
  return takes_files && http::is_form(request.head.headers.get("Content-Type"));
}

bool has_unnamed_body(const http::Request& request) {
  const std::string_view method = request.head.method;
  if (method == "GET" || method == "HEAD" || method == "OPTIONS") return false;
  const bool empty = !request.body.streaming() && request.body.text().empty();
  return !empty && !is_json(request.head.headers.get("Content-Type"));
}

http::Response refuse_body() {
  const Error error(make_error_code(errc::not_json), "requests from a browser need 'Content-Type: application/json'",
                    "Content-Type");
  auto response = dialects::error_response(error);
  response.head.status = 415;
  return response;
}

std::optional<Error> refusal(const http::Request& request, Page page, const AccessOptions& options) {
  const auto& headers = request.head.headers;
  if (const auto host = headers.get("Host"); !host.empty() && !is_our_name(host, options)) {
    return Error(
        make_error_code(errc::forbidden_host),
        fmt::format(
            "host '{}' is not allowed: use localhost or 127.0.0.1, or add it to allowed_hosts (--allowed-hosts {})",
            shown(host), shown(config::host_name(host))),
        "Host");
  }
  if (page == Page::cross_origin) return cross_origin(headers);
  return std::nullopt;
}

// True: the text is a list of header names, which is safe to echo.
bool is_names(std::string_view text) {
  return text.size() <= kLongestEcho && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == ',' || c == ' ';
         });
}

http::Response preflight(const http::Headers& asked) {
  http::Response response{http::ResponseHead{200, {}}, {}};
  auto& headers = response.head.headers;
  headers.add("Access-Control-Allow-Methods", kMethods);
  if (const auto names = asked.get("Access-Control-Request-Headers"); !names.empty() && is_names(names))
    headers.add("Access-Control-Allow-Headers", names);
  if (asked.get("Access-Control-Request-Private-Network") == "true")
    headers.add("Access-Control-Allow-Private-Network", "true");
  headers.add("Access-Control-Max-Age", kPreflightSeconds);
  return response;
}

http::Caller caller_of(const http::Request& request, const KeyTable& keys, const Clock& clock) {
  if (!keys.asks()) return {.rights = kOpenRights, .key = {}};
  const auto sent = sent_key(request.head.headers);
  const auto found = sent.empty() ? std::nullopt : keys.find(sent, clock.wall_now());
  if (!found) return {.rights = 0, .key = {}};
  return {.rights = found->rights, .key = std::string(found->id)};
}

}  // namespace

std::string_view sent_key(const http::Headers& headers) {
  constexpr std::string_view kBearer = "bearer ";
  const auto authorization = headers.get("Authorization");
  if (authorization.size() > kBearer.size() && http::same_name(authorization.substr(0, kBearer.size()), kBearer)) {
    return authorization.substr(kBearer.size());
  }
  return headers.get("x-api-key");
}

void AccessFilter::set(AccessOptions options) {
  auto next = std::make_shared<const AccessOptions>(std::move(options));
  const MutexLock lock(mutex_);
  options_ = std::move(next);
}

std::shared_ptr<const AccessOptions> AccessFilter::current() const {
  const MutexLock lock(mutex_);
  return options_;
}

async::Task<http::Response> AccessFilter::handle(http::Request request) {
  const auto options = current();
  AccessEntry entry(log_, request, clock_.now());
  const auto& headers = request.head.headers;
  const Page page = page_of(request, *options);
  // `request` is moved before the answer exists.
  const std::string origin(page == Page::listed ? headers.get("Origin") : std::string_view());
  const bool browser = headers.has("Origin") || headers.has("Sec-Fetch-Site");
  const bool varies = headers.has("Origin") || !options->allowed_origins.empty();

  const bool asks_first = request.head.method == "OPTIONS" && headers.has("Access-Control-Request-Method");
  http::Response response;
  if (const auto error = refusal(request, page, *options)) {
    response = dialects::error_response(*error);
    // The answer allows nothing, which browsers treat as a rejection; llama-server does the same.
    if (asks_first && error->code == errc::forbidden_origin) response = {http::ResponseHead{200, {}}, {}, {}};
  } else if (page == Page::listed && asks_first) {
    response = preflight(headers);
  } else if (browser && has_unnamed_body(request) && !is_upload(request, page)) {
    response = refuse_body();
  } else {
    request.caller = caller_of(request, *options->keys, clock_);
    entry.set_key(request.caller.key);
    response = co_await inside_.handle(std::move(request));
  }
  entry.set_response(response);
  if (!origin.empty()) {
    response.head.headers.set("Access-Control-Allow-Origin", origin);
    response.head.headers.set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
  }
  if (varies) response.head.headers.add("Vary", "Origin");
  co_return response;
}

}  // namespace corral::api
