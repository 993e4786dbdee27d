#include "http/request_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "http/errors.h"

namespace corral::http {
namespace {

constexpr std::string_view kTransferEncoding = "Transfer-Encoding";
constexpr std::string_view kContentEncoding = "Content-Encoding";
constexpr std::size_t kMaxCodings = 3;  // of one body; each costs memory and time of its own

bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
  });
}

// A client's text for a message, without characters that could break out of it.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out(text.substr(0, kLongest));
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }, '?');
  if (text.size() > kLongest) out.append("...");
  return out;
}

// Removes the first element of a list.
std::string_view take_element(std::string_view& list) {
  const auto comma = std::min(list.find(','), list.size());
  const auto element = trimmed(list.substr(0, comma), kBlanksInLine);
  list.remove_prefix(std::min(comma + 1, list.size()));
  return element;
}

std::optional<ContentCoding> coding_named(std::string_view name) {
  static constexpr std::pair<std::string_view, ContentCoding> kNames[] = {{"gzip", ContentCoding::gzip},
                                                                          {"x-gzip", ContentCoding::gzip},
                                                                          {"deflate", ContentCoding::deflate},
                                                                          {"zstd", ContentCoding::zstd}};
  for (const auto& [known, coding] : kNames) {
    if (same_name(known, name)) return coding;
  }
  return std::nullopt;
}

// A name or an address, in brackets if it is one of IPv6, and maybe a port (RFC 3986 §3.2.2).
bool names_a_host(std::string_view authority) {
  auto rest = authority;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    const auto inside = authority.substr(1, end - 1);
    if (!std::ranges::all_of(inside, [](char c) { return is_alnum(c) || c == ':' || c == '.'; })) return false;
    rest = authority.substr(end + 1);
  } else {
    const auto name = authority.substr(0, authority.find(':'));
    const auto allowed = [](char c) { return is_alnum(c) || std::string_view("-._~%!$&'()*+,;=").contains(c); };
    if (name.empty() || !std::ranges::all_of(name, allowed)) return false;
    rest = authority.substr(name.size());
  }
  if (rest.empty()) return true;
  constexpr std::size_t kLongestPort = 5;
  return rest.front() == ':' && rest.size() <= kLongestPort + 1 &&
         rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

Result<> check_framing(const Headers& headers, int version, bool chunked) {
  bool any = false, is_last = false, unknown = false;
  std::size_t times = 0;
  for (const auto& [name, value] : headers) {
    if (!same_name(name, kTransferEncoding)) continue;
    any = true;
    std::string_view rest = value;
    bool empty = true;
    while (!rest.empty()) {
      const auto coding = take_element(rest);
      if (coding.empty()) continue;
      if (!is_token(coding))
        return fail(errc::malformed, fmt::format("'{}' is not a transfer coding", shown(coding)),
                    std::string(kTransferEncoding));
      empty = false;
      is_last = same_name(coding, "chunked");
      if (is_last) ++times;
      unknown = unknown || !is_last;
    }
    if (empty)
      return fail(errc::malformed, "the field Transfer-Encoding is empty; omit it or send 'chunked'",
                  std::string(kTransferEncoding));
  }
  if (!any) return {};
  const auto refuse = [](errc code, std::string_view why) {
    return fail(code, std::string(why), std::string(kTransferEncoding));
  };
  if (version < 11) return refuse(errc::malformed, "HTTP/1.0 has no transfer codings; send Content-Length");
  if (headers.has("Content-Length"))
    return refuse(errc::malformed, "Transfer-Encoding and Content-Length exclude each other; send one of them");
  if (times > 1) return refuse(errc::malformed, "Transfer-Encoding names 'chunked' twice");
  if (times == 1 && !is_last) return refuse(errc::malformed, "'chunked' must be the last transfer coding");
  if (unknown)
    return refuse(errc::unknown_coding, "only the transfer coding 'chunked' is supported; send the body uncompressed");
  if (!chunked) return refuse(errc::malformed, "Transfer-Encoding is not a list of codings");
  return {};
}

Result<> check_host(const Headers& headers, int version) {
  const std::string* host = nullptr;
  for (const auto& [name, value] : headers) {
    if (!same_name(name, "Host")) continue;
    if (host) return fail(errc::malformed, "the field Host is duplicated; send it once", "Host");
    host = &value;
  }
  if (!host) {
    if (version < 11) return {};
    return fail(errc::malformed, "HTTP/1.1 needs the field Host, such as 'Host: localhost'", "Host");
  }
  if (!names_a_host(*host))
    return fail(errc::malformed,
                fmt::format("'{}' is not a host; send a name or an address, such as 'localhost:8000'", shown(*host)),
                "Host");
  return {};
}

Result<> take_target(RequestHead& head) {
  if (head.target.starts_with('/') || (head.target == "*" && head.method == "OPTIONS")) return {};
  const std::string_view target = head.target;
  const auto mark = target.find("://");
  const auto scheme = target.substr(0, std::min(mark, target.size()));
  if (mark == std::string_view::npos || (!same_name(scheme, "http") && !same_name(scheme, "https")))
    return fail(errc::malformed, fmt::format("the target '{}' is neither a path nor an http address", shown(target)));
  const auto rest = target.substr(mark + 3);
  const auto authority = rest.substr(0, rest.find_first_of("/?"));
  if (!names_a_host(authority)) return fail(errc::malformed, fmt::format("the target '{}' has no host", shown(target)));
  head.headers.set("Host", authority);
  std::string path(rest.substr(authority.size()));
  if (!path.starts_with('/')) path.insert(0, "/");
  head.target = std::move(path);
  return {};
}

Result<std::vector<ContentCoding>> content_codings(const Headers& headers) {
  std::vector<ContentCoding> codings;
  for (const auto& [name, value] : headers) {
    if (!same_name(name, kContentEncoding)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const auto element = take_element(rest);
      if (element.empty() || same_name(element, "identity")) continue;
      const auto coding = coding_named(element);
      if (!coding)
        return fail(errc::unsupported_encoding,
                    fmt::format("the Content-Encoding '{}' is not supported; send the body with gzip, deflate or zstd, "
                                "or without an encoding",
                                shown(element)),
                    std::string(kContentEncoding));
      if (codings.size() == kMaxCodings)
        return fail(errc::unsupported_encoding,
                    fmt::format("Content-Encoding names more than {} codings; send the body with one of them, or "
                                "without an encoding",
                                kMaxCodings),
                    std::string(kContentEncoding));
      codings.push_back(*coding);
    }
  }
  return codings;
}

}  // namespace corral::http
