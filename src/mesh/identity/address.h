// An address of a node: "host:port", "192.168.1.7:8100", "[fd00::1]:8100". A plain value.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::mesh {

struct Address {
  std::string host;  // a name or an address, without brackets; 253 characters at most
  std::uint16_t port = 0;
  friend auto operator<=>(const Address&, const Address&) = default;
};

std::string to_text(const Address& address);
// Errors: bad_address, with the text and what is wrong.
Result<Address> parse_address(std::string_view text);

}  // namespace corral::mesh
