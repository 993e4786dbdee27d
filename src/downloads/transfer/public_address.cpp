#include "downloads/transfer/public_address.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include <ifaddrs.h>
#include <netinet/in.h>

namespace corral::downloads {
namespace {

namespace ip = boost::asio::ip;

constexpr std::uint32_t of(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) { return a << 24 | b << 16 | c << 8; }

struct Network {
  std::uint32_t address;
  unsigned bits;
};
// Special networks of RFC 6890, and multicast.
constexpr auto kSpecial = std::to_array<Network>({
    {of(0, 0), 8},           // this network
    {of(10, 0), 8},          // private
    {of(100, 64), 10},       // shared, of providers
    {of(127, 0), 8},         // loopback
    {of(169, 254), 16},      // links, and metadata of clouds
    {of(172, 16), 12},       // private
    {of(192, 0, 0), 24},     // protocols
    {of(192, 0, 2), 24},     // documentation
    {of(192, 88, 99), 24},   // 6to4 relays
    {of(192, 168), 16},      // private
    {of(198, 18), 15},       // benchmarks
    {of(198, 51, 100), 24},  // documentation
    {of(203, 0, 113), 24},   // documentation
    {of(224, 0), 4},         // multicast
    {of(240, 0), 4},         // reserved, broadcast
});

bool is_public(const ip::address_v4& address) {
  const std::uint32_t number = address.to_uint();
  return std::ranges::none_of(kSpecial, [&](const Network& network) {
    return number >> (32 - network.bits) == network.address >> (32 - network.bits);
  });
}

// Only 2000::/3 is global unicast. Mapped addresses and NAT64 are outside of it.
bool is_public(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  const auto at = [&](std::size_t i) { return static_cast<unsigned>(bytes[i]); };
  if (at(0) >> 5 != 1) return false;
  const unsigned first = at(0) << 8 | at(1), second = at(2) << 8 | at(3);
  if (first == 0x2001 && second < 0x200) return false;   // protocols, Teredo
  if (first == 0x2001 && second == 0xdb8) return false;  // documentation
  if (first == 0x2002) return false;                     // 6to4
  return !(first == 0x3fff && second < 0x1000);          // documentation
}

}  // namespace

bool is_public(const ip::address& address) {
  return address.is_v4() ? is_public(address.to_v4()) : is_public(address.to_v6());
}

bool is_in(const ip::address& address, const LocalNetwork& network) {
  if (address.is_v4() != network.address.is_v4()) return false;
  const auto same = [&](const auto& one, const auto& other) {
    for (unsigned bit = 0; bit < network.bits && bit / 8 < one.size(); ++bit) {
      const auto mask = static_cast<unsigned char>(0x80u >> bit % 8);
      if ((one[bit / 8] & mask) != (other[bit / 8] & mask)) return false;
    }
    return true;
  };
  return address.is_v4() ? same(address.to_v4().to_bytes(), network.address.to_v4().to_bytes())
                         : same(address.to_v6().to_bytes(), network.address.to_v6().to_bytes());
}

std::vector<LocalNetwork> local_networks() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, ::freeifaddrs);
  const auto ones = [](const auto& bytes) {
    unsigned bits = 0;
    for (const unsigned char byte : bytes) bits += static_cast<unsigned>(std::popcount(byte));
    return bits;
  };
  std::vector<LocalNetwork> networks;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr) continue;
    if (at->ifa_addr->sa_family == AF_INET) {
      std::array<unsigned char, 4> address{}, mask{};
      std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, address.size());
      std::memcpy(mask.data(), &reinterpret_cast<const sockaddr_in*>(at->ifa_netmask)->sin_addr, mask.size());
      networks.push_back({ip::address_v4(address), ones(mask)});
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      std::array<unsigned char, 16> address{}, mask{};
      std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr, address.size());
      std::memcpy(mask.data(), &reinterpret_cast<const sockaddr_in6*>(at->ifa_netmask)->sin6_addr, mask.size());
      networks.push_back({ip::address_v6(address), ones(mask)});
    }
  }
  return networks;
}

}  // namespace corral::downloads
