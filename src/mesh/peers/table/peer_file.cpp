#include "mesh/peers/table/peer_file.h"

#include "base/log.h"
#include "base/state_file.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::string_view kMagic = "corral-peers";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMaxPeers = 4096;
constexpr std::size_t kMaxAddresses = 16;

}  // namespace

std::string encode(const std::vector<KnownPeer>& peers) {
  std::string bytes;
  ByteWriter out(bytes);
  const auto count = std::min(peers.size(), kMaxPeers);
  out.raw(kMagic).number<std::uint8_t>(kVersion).number<std::uint32_t>(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const auto& peer = peers[i];
    out.raw(peer.key.bytes).number<std::uint8_t>(peer.claim ? 1 : 0);
    if (peer.claim) out.raw(encode(*peer.claim));
    const auto addresses = std::min(peer.addresses.size(), kMaxAddresses);
    out.number<std::uint8_t>(static_cast<std::uint8_t>(addresses));
    for (std::size_t j = 0; j < addresses; ++j) out.sized<std::uint16_t>(to_text(peer.addresses[j]));
  }
  return bytes;
}

Result<std::vector<KnownPeer>> decode_peers(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.take(kMagic.size()) != kMagic) return fail(errc::malformed, "this is not a list of peers");
  if (in.number<std::uint8_t>() != kVersion)
    return fail(errc::unsupported_version, "the list of peers has a newer format: update corral");
  const auto count = in.number<std::uint32_t>();
  if (count > kMaxPeers) return fail(errc::too_many, "the list of peers is too long");
  std::vector<KnownPeer> peers;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    KnownPeer peer{{in.fixed<32>()}, {}, {}};
    if (in.number<std::uint8_t>() == 1) peer.claim = decode_claim(in.take(kEpochClaimBytes));
    const auto addresses = in.number<std::uint8_t>();
    if (addresses > kMaxAddresses) return fail(errc::malformed, "a peer in the list has too many addresses");
    for (std::size_t j = 0; j < addresses; ++j) {
      auto address = parse_address(in.sized<std::uint16_t>());
      if (!address) return std::unexpected(address.error());
      peer.addresses.push_back(std::move(*address));
    }
    peers.push_back(std::move(peer));
  }
  if (!in.done()) return fail(errc::malformed, "the list of peers is cut off, or has additional bytes");
  return peers;
}

std::vector<KnownPeer> read_peers(const std::filesystem::path& folder) {
  const auto file = folder / kPeersFile;
  const auto bytes = read_state_file(file);
  if (bytes && !*bytes) return {};
  auto peers = bytes ? decode_peers(**bytes) : Result<std::vector<KnownPeer>>(std::unexpected(bytes.error()));
  if (peers) return std::move(*peers);
  const auto aside = set_aside(file);
  log::warning("mesh", "the list of peers in '{}' is unusable ({}) and was moved to '{}'", file.native(),
               peers.error().message, aside.native());
  return {};
}

}  // namespace corral::mesh
