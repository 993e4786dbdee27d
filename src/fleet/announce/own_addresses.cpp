#include "fleet/announce/own_addresses.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "mesh/members/join_token.h"

namespace corral::fleet {
namespace {

bool is_any(const std::string& host) { return host == "0.0.0.0" || host == "::" || host.empty(); }

bool is_loopback(const InterfaceAddress& own) {
  return own.v6 ? own.address == "::1" : own.address.starts_with("127.");
}

// Valid on its own link only; for IPv6 it needs the name of an interface, which differs between machines.
bool is_link_local(const InterfaceAddress& own) {
  return own.v6 ? own.address.starts_with("fe8") || own.address.starts_with("fe9") || own.address.starts_with("fea") ||
                      own.address.starts_with("feb")
                : own.address.starts_with("169.254.");
}

bool is_bridge(const InterfaceAddress& own) {
  static constexpr std::array<std::string_view, 7> kNames = {"docker", "br-", "veth", "virbr", "podman", "cni", "lxc"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return own.interface.starts_with(name); });
}

int rank(const InterfaceAddress& own) { return (is_bridge(own) ? 2 : 0) + (own.v6 ? 1 : 0); }

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* bytes = family == AF_INET
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr)
                            : &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    char text[INET6_ADDRSTRLEN] = {};
    if (::inet_ntop(family, bytes, text, sizeof text) == nullptr) continue;
    found.push_back({at->ifa_name, text, family == AF_INET6, (at->ifa_flags & IFF_UP) != 0});
  }
  return found;
}

std::vector<mesh::Address> own_addresses(const std::vector<InterfaceAddress>& interfaces,
                                         const mesh::Address& listening, const std::vector<mesh::Address>& advertised) {
  if (!advertised.empty()) return advertised;
  if (!is_any(listening.host)) return {listening};
  // A socket on 0.0.0.0 accepts only IPv4; one on :: accepts both.
  const bool v6 = listening.host == "::";
  std::vector<mesh::Address> addresses;
  for (const int wanted : {0, 1, 2, 3}) {
    for (const auto& own : interfaces) {
      const bool usable = own.up && !is_loopback(own) && !is_link_local(own) && (v6 || !own.v6);
      if (usable && rank(own) == wanted) addresses.push_back({own.address, listening.port});
    }
  }
  if (addresses.size() > mesh::kMaxSeeds) addresses.resize(mesh::kMaxSeeds);
  return addresses;
}

}  // namespace corral::fleet
