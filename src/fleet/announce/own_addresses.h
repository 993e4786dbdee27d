// Addresses at which other nodes may reach this one, for tokens and the node's announcement.
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

// From the system. About ten microseconds. Empty on failure.
std::vector<InterfaceAddress> interface_addresses();

// Addresses for other nodes, the most likely first, at most eight. `advertised` if not empty; the listen address if it
// is specific; else all addresses of the machine, without loopback and link-local ones. Bridges of containers and
// virtual machines come last. Pure.
std::vector<mesh::Address> own_addresses(const std::vector<InterfaceAddress>& interfaces,
                                         const mesh::Address& listening, const std::vector<mesh::Address>& advertised);

}  // namespace corral::fleet
