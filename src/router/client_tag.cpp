#include "router/client_tag.h"

#include <random>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace corral::router {
namespace {

std::uint64_t random_secret() {
  std::random_device device;
  return std::uint64_t(device()) << 32 | device();
}

}  // namespace

ClientTags::ClientTags() : ClientTags(random_secret()) {}

std::string ClientTags::of(std::string_view key, std::string_view peer) const {
  const auto who = key.empty() ? peer : key;
  // The same text as a key and as an address are two clients.
  const auto seed = secret_ ^ (key.empty() ? 0 : 1);
  return fmt::format("{:016x}", XXH3_64bits_withSeed(who.data(), who.size(), seed));
}

}  // namespace corral::router
