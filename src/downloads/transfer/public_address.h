// Which addresses belong to the public Internet. Pure.
#pragma once

#include <boost/asio/ip/address.hpp>

namespace corral::downloads {

// False for this machine, private networks, links, multicast, and addresses that are reserved, documented or contain
// an IPv4 address (mapped, NAT64, 6to4, Teredo), behind which any of these may be.
bool is_public(const boost::asio::ip::address& address);

}  // namespace corral::downloads
