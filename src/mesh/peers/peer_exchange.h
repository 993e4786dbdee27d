// What a node tells over its links so that all find each other: its own life, and for members it knows, where they can
// be dialled and whether it has a link to them. Sent whole when a link comes up and when something changes. Pure.
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

// Nodes that a frame has no room for are left out, the last ones first.
std::string encode(const PeerExchange& whereabouts);
// Says nothing about signatures. Errors: malformed, also for more addresses of a node than it may have.
Result<PeerExchange> decode_whereabouts(std::string_view bytes);

// "Dial me, and say this number first: then the stream is mine, for that purpose."
struct ReverseDialRequest {
  std::uint64_t number = 0;
  Purpose purpose{};
};
std::string encode(const ReverseDialRequest& ask);
// Nothing: for purpose 5 of earlier versions, which is passed over. Errors: malformed, also for purposes that streams
// aren't asked for.
Result<std::optional<ReverseDialRequest>> decode_dial_me(std::string_view bytes);

}  // namespace corral::mesh
