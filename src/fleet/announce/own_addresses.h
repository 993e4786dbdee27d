// Where other nodes may find this one: the addresses that a token and the node's own announcement carry.
#pragma once

#include <string>
#include <vector>

#include "mesh/identity/address.h"

namespace corral::fleet {

// One address of an interface.
struct InterfaceAddress {
  std::string interface;  // "eth0"
  std::string address;    // "192.168.1.7", "fd00::1"
  bool v6 = false;
  bool up = true;
};

// As the system says. Some ten microseconds. Empty when it says nothing.
std::vector<InterfaceAddress> interface_addresses();

// Those that others can be told, the likeliest first, eight at most. `advertised` where it has any; the address that is
// listened on where that is one; else all of the machine, without loopback and those that mean something on one link
// only. Bridges of containers and virtual machines come last. Pure.
std::vector<mesh::Address> own_addresses(const std::vector<InterfaceAddress>& interfaces,
                                         const mesh::Address& listening, const std::vector<mesh::Address>& advertised);

}  // namespace corral::fleet
