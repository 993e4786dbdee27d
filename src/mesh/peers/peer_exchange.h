// Peer exchange, by which all nodes find each other: a node sends its own epoch and, for the members that it knows,
// their addresses and whether it has a link to them. Sent as a whole when a link comes up and after changes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/identity/address.h"
#include "mesh/identity/epoch.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

struct PeerExchange {
  struct Node {
    NodeId id;
    bool linked = false;  // the sender has a link to it
    std::vector<Address> addresses;
    friend bool operator==(const Node&, const Node&) = default;
  };

  EpochClaim claim;         // of the sender
  std::vector<Node> nodes;  // the sender too, with its own addresses
  friend bool operator==(const PeerExchange&, const PeerExchange&) = default;
};

inline constexpr std::size_t kMaxAddressesOfNode = 8;

// Nodes that don't fit into a frame are left out, the last ones first.
std::string encode(const PeerExchange& exchange);
// Doesn't check signatures. Errors: malformed, also for too many addresses of a node.
Result<PeerExchange> decode_peer_exchange(std::string_view bytes);

// A request to dial the sender. The first bytes of the dialled stream are this number; the sender uses it for
// `purpose`.
struct ReverseDialRequest {
  std::uint64_t number = 0;
  Purpose purpose{};
};
std::string encode(const ReverseDialRequest& ask);
// Nothing for purpose 5 of earlier versions, which is skipped. Errors: malformed, also for purposes without reverse
// dials.
Result<std::optional<ReverseDialRequest>> decode_dial_me(std::string_view bytes);

}  // namespace corral::mesh
