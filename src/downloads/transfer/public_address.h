// Which addresses belong to the public Internet, and not to this machine's own networks. Safe on every thread.
#pragma once

#include <vector>

#include <boost/asio/ip/address.hpp>

namespace corral::downloads {

// False for this machine, private networks, links, multicast, and addresses that are reserved, documented or contain
// an IPv4 address (mapped, NAT64, 6to4, Teredo), behind which any of these may be.
bool is_public(const boost::asio::ip::address& address);

// The networks of this machine's interfaces. Their other machines have public addresses too, always with IPv6.
struct LocalNetwork {
  boost::asio::ip::address address;  // of the machine
  unsigned bits = 0;                 // of the prefix
};
std::vector<LocalNetwork> local_networks();
bool is_in(const boost::asio::ip::address& address, const LocalNetwork& network);

}  // namespace corral::downloads
