// Addresses of servers in descriptors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::backends {

struct HttpAddress {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 80;
  std::string base;  // in front of every path; "" or "/v1"
};
// "http://127.0.0.1:11434/v1"; empty for other forms.
std::optional<HttpAddress> parse_address(std::string_view url);

}  // namespace corral::backends
