#include "mesh/identity/address.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kLongestHost = 253;

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}
// IPv6 addresses, with the zone of a link-local one behind '%'.
bool is_ip6_character(char c) { return is_host_character(c) || c == ':' || c == '%'; }

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(errc::bad_address, fmt::format("'{}' is not an address: {}; write host:port, as in 192.168.1.7:8100",
                                             valid_utf8(text.substr(0, 80)), why));
}

}  // namespace

std::string to_text(const Address& address) {
  const bool ip6 = address.host.contains(':');
  return ip6 ? fmt::format("[{}]:{}", address.host, address.port) : fmt::format("{}:{}", address.host, address.port);
}

Result<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad(text, "it has no port");
  auto host = text.substr(0, colon);
  const auto digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad(text, "it has no host");
  if (bracketed && !host.contains(':')) return bad(text, "only an IPv6 address has brackets");
  if (host.size() > kLongestHost) return bad(text, "its host is too long");
  if (!std::ranges::all_of(host, bracketed ? is_ip6_character : is_host_character)) {
    return bad(text, "its host has an invalid character (an IPv6 address needs brackets)");
  }
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0) {
    return bad(text, "its port isn't between 1 and 65535");
  }
  return Address{std::string(host), port};
}

}  // namespace corral::mesh
