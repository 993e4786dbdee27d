#include "mesh/peers/peer_exchange.h"

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "mesh/link/frame.h"

namespace corral::mesh {
namespace {

// Earlier versions send 1, and offer to relay streams to that node; their claims of its epoch are behind the nodes and
// are skipped.
constexpr std::uint8_t kLinked = 2, kLinkedBefore = 1;
constexpr std::uint8_t kPurposeBefore = 5;
constexpr std::size_t kLongestAddress = 253 + 2 + 1 + 5;  // with brackets and port

}  // namespace

std::string encode(const PeerExchange& exchange) {
  std::string bytes, node_bytes;
  std::uint16_t count = 0;
  std::string nodes;
  for (const auto& node : exchange.nodes) {
    node_bytes.clear();
    ByteWriter out(node_bytes);
    out.raw(node.id.bytes).number<std::uint8_t>(node.linked ? kLinked : 0);
    const auto addresses = std::min(node.addresses.size(), kMaxAddressesOfNode);
    out.number<std::uint8_t>(static_cast<std::uint8_t>(addresses));
    for (std::size_t i = 0; i < addresses; ++i) out.sized<std::uint16_t>(to_text(node.addresses[i]));
    const auto size = kEpochClaimBytes + 2 + nodes.size() + node_bytes.size();
    if (size > max_bytes(FrameKind::peer_exchange)) break;
    nodes += node_bytes;
    ++count;
  }
  ByteWriter(bytes).raw(encode(exchange.claim)).number<std::uint16_t>(count).raw(nodes);
  return bytes;
}

Result<PeerExchange> decode_peer_exchange(std::string_view bytes) {
  ByteReader in(bytes);
  const auto claim = decode_claim(in.take(kEpochClaimBytes));
  if (!claim) return fail(errc::malformed, "a frame with addresses has no valid epoch");
  PeerExchange exchange{*claim, {}};
  const auto count = in.number<std::uint16_t>();
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    PeerExchange::Node node;
    node.id.bytes = in.fixed<32>();
    node.linked = (in.number<std::uint8_t>() & (kLinked | kLinkedBefore)) != 0;
    const auto addresses = in.number<std::uint8_t>();
    if (addresses > kMaxAddressesOfNode) return fail(errc::malformed, "a node has too many addresses");
    for (std::size_t j = 0; j < addresses; ++j) {
      const auto text = in.sized<std::uint16_t>();
      if (text.size() > kLongestAddress) return fail(errc::malformed, "an address is too long");
      auto address = parse_address(text);
      if (!address) return fail(errc::malformed, "an address is invalid");
      node.addresses.push_back(std::move(*address));
    }
    exchange.nodes.push_back(std::move(node));
  }
  if (!in.ok()) return fail(errc::malformed, "a frame with addresses is cut off");
  return exchange;
}

std::string encode(const ReverseDialRequest& ask) {
  std::string bytes;
  ByteWriter(bytes).number<std::uint64_t>(ask.number).number<std::uint8_t>(static_cast<std::uint8_t>(ask.purpose));
  return bytes;
}

Result<std::optional<ReverseDialRequest>> decode_dial_me(std::string_view bytes) {
  ByteReader in(bytes);
  const auto number = in.number<std::uint64_t>();
  const auto value = in.number<std::uint8_t>();
  const auto purpose = static_cast<Purpose>(value);
  const bool may = purpose == Purpose::http || purpose == Purpose::copy || purpose == Purpose::rpc;
  if (!in.ok() || (!may && value != kPurposeBefore)) return fail(errc::malformed, "a request to dial is malformed");
  return may ? std::optional(ReverseDialRequest{number, purpose}) : std::nullopt;
}

}  // namespace corral::mesh
