#include "api/access_filter.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "api/errors.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

bool same_secret(std::string_view a, std::string_view b) {
  // Time depends on the length of what was sent, never on where it differs.
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ (b.empty() ? 1 : b[i % b.size()]));
  return difference == 0;
}

std::string_view sent_key(const http::Headers& headers) {
  constexpr std::string_view kBearer = "bearer ";
  const auto authorization = headers.get("Authorization");
  if (authorization.size() > kBearer.size() && http::same_name(authorization.substr(0, kBearer.size()), kBearer)) {
    return authorization.substr(kBearer.size());
  }
  return headers.get("x-api-key");
}

// "http://[::1]:8000" -> "::1", "localhost:8000" -> "localhost".
std::string_view host_name(std::string_view authority) {
  if (const auto scheme = authority.find("://"); scheme != std::string_view::npos) authority.remove_prefix(scheme + 3);
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

// Addresses, not names: "127.0.0.1.example.com" is somebody else's.
bool is_loopback(std::string_view host) {
  if (http::same_name(host, "localhost") || host == "::1") return true;
  constexpr std::string_view kLocal = ".localhost";
  if (host.size() > kLocal.size() && http::same_name(host.substr(host.size() - kLocal.size()), kLocal)) return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// A page may ask the server it came from, if that is known by a key or by its name. "null" is any page in a sandbox.
bool may_ask(std::string_view origin, std::string_view host, const AccessOptions& options) {
  if (origin == "null") return false;
  const auto from = host_name(origin);
  return is_loopback(from) || (!options.loopback_only && !host.empty() && http::same_name(from, host_name(host)));
}

std::optional<Error> refusal(const http::Request& request, const AccessOptions& options) {
  const auto& headers = request.head.headers;
  const auto host = headers.get("Host");
  if (options.loopback_only && !host.empty() && !is_loopback(host_name(host))) {
    return Error(make_error_code(errc::forbidden_host),
                 fmt::format("host '{}' is not served here; use localhost or 127.0.0.1", host), "Host");
  }
  if (const auto origin = headers.get("Origin"); !origin.empty() && !may_ask(origin, host, options)) {
    return Error(make_error_code(errc::forbidden_origin),
                 fmt::format("pages from '{}' may not use this server", origin), "Origin");
  }
  if (options.api_key.empty() ||
      std::ranges::find(options.open_paths, request.head.path()) != options.open_paths.end()) {
    return std::nullopt;
  }
  if (same_secret(sent_key(headers), options.api_key)) return std::nullopt;
  return Error(make_error_code(errc::invalid_api_key),
               "a valid API key is needed: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'");
}

}  // namespace

void AccessFilter::set(AccessOptions options) {
  auto next = std::make_shared<const AccessOptions>(std::move(options));
  const std::lock_guard lock(mutex_);
  options_ = std::move(next);
}

std::shared_ptr<const AccessOptions> AccessFilter::current() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

async::Task<http::Response> AccessFilter::handle(http::Request request) {
  const auto options = current();
  if (const auto error = refusal(request, *options)) co_return protocol::error_response(*error);
  co_return co_await inside_.handle(std::move(request));
}

}  // namespace corral::api
