#include "console/page.h"

#include <algorithm>

#include <fmt/format.h>

namespace corral::console {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Calls `visit` with each trimmed element of a list.
void each_element(std::string_view list, char between, auto&& visit) {
  while (!list.empty()) {
    const auto end = std::min(list.find(between), list.size());
    auto element = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (element.starts_with(' ') || element.starts_with('\t')) element.remove_prefix(1);
    while (element.ends_with(' ') || element.ends_with('\t')) element.remove_suffix(1);
    if (!element.empty()) visit(element);
  }
}

// "gzip;q=0", "gzip; q=0.000"
bool is_refused(std::string_view element) {
  bool refused = false;
  each_element(element, ';', [&](std::string_view parameter) {
    if (parameter.starts_with("q=") || parameter.starts_with("Q="))
      refused = parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
  });
  return refused;
}

bool has(const http::RequestHead& head, std::string_view etag) {
  bool found = false;
  each_element(head.headers.get("If-None-Match"), ',', [&](std::string_view element) {
    if (element.starts_with("W/")) element.remove_prefix(2);
    const bool quoted = element.size() >= 2 && element.starts_with('"') && element.ends_with('"');
    found |= element == "*" || (quoted && element.substr(1, element.size() - 2) == etag);
  });
  return found;
}

void add_policy(http::Headers& headers) {
  headers.add("Content-Security-Policy", kPolicy);
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Referrer-Policy", "no-referrer");
  headers.add("Cross-Origin-Opener-Policy", "same-origin");
  headers.add("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

bool is_browser(const http::RequestHead& head) {
  // Java's HTTP client, which accepts HTML by default, shows none.
  return head.headers.get("Accept").find("text/html") != std::string_view::npos &&
         !head.headers.get("User-Agent").starts_with("Java/");
}

bool takes_gzip(std::string_view accept_encoding) {
  bool named = false, takes = false, any = false;
  each_element(accept_encoding, ',', [&](std::string_view element) {
    auto name = element.substr(0, element.find(';'));
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name == "*") any = !is_refused(element);
    if (!http::same_name(name, "gzip") && !http::same_name(name, "x-gzip")) return;
    named = true;
    takes = !is_refused(element);
  });
  return named ? takes : any;
}

http::Response serve(const File& file, const http::RequestHead& head) {
  const bool gzip = takes_gzip(head.headers.get("Accept-Encoding"));
  // The two forms are different bytes, so they have different tags.
  const auto etag = fmt::format("{}{}", file.etag, gzip ? "-gzip" : "");
  http::Response response;
  if (has(head, etag)) {
    response.head.status = 304;
  } else {
    response = http::Response::text(200, file.type, gzip ? std::string(file.gzip) : inflated(file));
    if (gzip) response.head.headers.add("Content-Encoding", "gzip");
  }
  auto& headers = response.head.headers;
  headers.add("ETag", fmt::format("\"{}\"", etag));
  headers.add("Cache-Control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  headers.add("Vary", "Accept-Encoding");
  add_policy(headers);
  return response;
}

http::Response with_slash(std::string_view path) {
  http::Response response;
  response.head.status = 308;
  // Relative, because a proxy may have removed the beginning of the path.
  response.head.headers.add("Location", fmt::format("{}/", path.substr(path.rfind('/') + 1)));
  response.head.headers.add("Cache-Control", "no-cache");
  return response;
}

}  // namespace corral::console
