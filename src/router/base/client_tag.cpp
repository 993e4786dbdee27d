#include "router/base/client_tag.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <arpa/inet.h>
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace corral::router {
namespace {

std::uint64_t random_secret() {
  std::random_device device;
  return std::uint64_t(device()) << 32 | device();
}

// The part of an address that one machine can't change freely: for IPv6 the /64 network, as in the count of
// connections.
std::string network_of(std::string_view peer) {
  std::array<unsigned char, 16> bytes{};
  const std::string text(peer);
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  static constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin()))
    return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  return {bytes.begin(), bytes.begin() + 8};
}

}  // namespace

ClientTags::ClientTags() : ClientTags(random_secret()) {}

std::string ClientTags::of(const OwnerId& owner, const ClientAddress& client) const {
  const auto& key = owner.value();
  const auto caller = key.empty() ? network_of(client.value()) : key;
  // The same text as a key and as an address are two clients.
  const auto seed = secret_ ^ (key.empty() ? 0 : 1);
  return fmt::format("{:016x}", XXH3_64bits_withSeed(caller.data(), caller.size(), seed));
}

}  // namespace corral::router
