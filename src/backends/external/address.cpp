#include "backends/external/address.h"

#include <algorithm>
#include <charconv>

namespace corral::backends {

std::optional<HttpAddress> parse_address(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const auto slash = std::min(url.find('/'), url.size());
  HttpAddress address;
  address.base = url.substr(slash);
  while (address.base.ends_with('/')) address.base.pop_back();
  auto where = url.substr(0, slash);
  if (where.contains('@') || address.base.find_first_of("?# \r\n") != std::string::npos) return std::nullopt;
  const auto bracket = where.find(']');
  const auto colon = where.find(':', bracket == where.npos ? 0 : bracket);
  if (colon != where.npos) {
    const auto digits = where.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    if (error != std::errc() || end != digits.data() + digits.size() || address.port == 0) return std::nullopt;
    where = where.substr(0, colon);
  }
  if (where.starts_with('[') && where.ends_with(']')) where = where.substr(1, where.size() - 2);
  address.host = where;
  if (address.host.empty()) return std::nullopt;
  return address;
}

}  // namespace corral::backends
